"""model and reembed: choose the embedding model of search, and embed the memory with it."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import DownloadColumn, MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config, settings, settings_file
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import (
    console,
    errors,
    open_memory,
    print_json,
    print_line,
    print_table,
    progress_bar,
    working,
)
from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem_lite.search.embedder import ModelRecord
    from claude_mem_lite.search.inventory import Model

models = typer.Typer(no_args_is_help=True, help="List, fetch and choose embedding models.")
app.add_typer(models, name="model")

_DIMENSION_HELP = "Cut the vectors to so many numbers, where the model allows it; 0: whole."
Name = Annotated[str, typer.Argument(metavar="NAME", help="auto, minilm, qwen3, owner/name, or a folder.")]
Dimension = Annotated[int, typer.Option(min=0, metavar="N", help=_DIMENSION_HELP)]


@models.command("list")
def list_models(*, as_json: AsJson = False) -> None:
    """List the embedding models, where they are stored, and which one search uses."""
    from claude_mem_lite.search import inventory, write_lock

    if os.path.exists(config.memory_path()):
        open_memory(read_only=True)
    found, chosen = inventory.models(), settings.load()
    _, problem = inventory.chosen()
    half_made = write_lock.in_the_making()
    if print_json({
        "setting": chosen.embedding_model,
        "dimension": chosen.dimension,
        "problem": problem,
        "half_made": half_made,
        "models": [dataclasses.asdict(model) for model in found],
    }, as_json=as_json):  # fmt: skip
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("model")
    for column in ("dimensions", "size", "vectors"):
        table.add_column(column, justify="right")
    table.add_column("where", overflow="fold")
    for model in found:
        table.add_row(*_row(model))
    print_table(table)
    setting = f'[search] embedding_model = "{chosen.embedding_model}"'
    in_use = next((model.name for model in found if model.is_in_use), "")
    says = f"Search uses {in_use}, by {setting}." if in_use else f"Search uses full text alone: {problem}"
    print_line(says)
    if half_made:
        says = f"The vectors of {half_made} are incomplete. To compute the rest: claude-mem reembed"
        print_line(says)


@models.command()
def download(name: Name, *, as_json: AsJson = False) -> None:
    """Download a model from the Hugging Face hub into the data directory, unless it is here already."""
    from claude_mem_lite.search import embedder

    if not errors.is_terminal:
        os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    record = embedder.resolve(name)
    was_here = embedder.find(record)
    if not was_here:
        config.ensure_home()
    with progress_bar(DownloadColumn()) as progress:
        task = progress.add_task(f"fetching {record.name}", total=None, visible=bool(record.files))
        path = embedder.download(record, lambda here, size: progress.update(task, completed=here, total=size))
    if print_json({"model": record.name, "path": path, "was_here": bool(was_here)}, as_json=as_json):
        return
    print_line(f"{record.name} {'was already' if was_here else 'is now'} in {path}")
    if not was_here:
        console.print(
            f"To use it now: [bold]claude-mem model use {name}[/bold]. To use it once all vectors are "
            f"computed: [bold]claude-mem reembed --model {name}[/bold]"
        )


@models.command()
def use(name: Name, *, dimension: Dimension = 0, as_json: AsJson = False) -> None:
    """Switch search to a model, or to "none"; rows are embedded again in the background.

    Until then a row is found by words alone. To switch only once all rows
    are embedded: claude-mem reembed --model.
    """
    from claude_mem_lite.search import embedder, inventory, write_lock
    from claude_mem_lite.search.reembed import tell_web

    if name == inventory.NONE:
        if dimension:
            raise typer.BadParameter("none has no vectors: leave out --dimension")
    else:
        record = embedder.resolve(name, dimension=dimension)
        inventory.check(record)
    config.ensure_home()
    with working("telling the web process", quiet=as_json), write_lock.run() as say:
        settings_file.choose_model(name, dimension=dimension)
        say("")
        is_told = tell_web()
    if as_json:
        used = name if name == inventory.NONE else record.name
        print_json({"model": used, "web_told": is_told}, as_json=True)
    elif name == inventory.NONE:
        console.print("Search uses full text alone from now on.")
    else:
        when = "in the background" if is_told else "in the background once the services run: claude-mem up"
        print_line(f"Search uses {record.name}. Rows without its vectors are embedded {when}.")
    _say_deaf(is_told)


@models.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A model; default: the one in use.")
    ] = None,
    *,
    fit: Annotated[
        bool, typer.Option("--fit", help="Fit the weight of its vectors against words on your memory.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model on this machine: load time, milliseconds per text, memory."""
    from claude_mem_lite.search import embedder
    from claude_mem_lite.search.embedder import bench as benchmark

    chosen = settings.load()
    wanted, dimension = (name, 0) if name else (chosen.embedding_model, chosen.dimension)
    if fit:
        _fit(embedder.resolve(wanted, dimension=dimension), as_json=as_json)
        return
    with working("measuring", quiet=as_json):
        found = benchmark.measure(embedder.resolve(wanted, dimension=dimension))
    if print_json(dataclasses.asdict(found), as_json=as_json):
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for what, value in (
        ("model", found.model),
        ("dimensions", str(found.dimension)),
        ("load", f"{found.load_s:.2f} s"),
        ("a short title", f"{found.title_ms:.1f} ms"),
        ("an observation of 110 tokens", f"{found.observation_ms:.1f} ms"),
        (f"{benchmark.BATCH} observations together", f"{found.batch_ms:.1f} ms"),
        ("peak memory", f"+{found.memory_bytes / 2**20:.0f} MiB"),
    ):
        table.add_row(what, Text(value))
    print_table(table)


@app.command()
def reembed(
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Switch to this model once all its vectors are computed."),
    ] = None,
    dimension: Annotated[int | None, typer.Option(min=0, metavar="N", help=_DIMENSION_HELP)] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Discard all vectors and compute them again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute missing vectors now, in this process; search keeps working meanwhile.

    Works without the services. If interrupted, run it again to continue.
    """
    from claude_mem_lite.search import reembed as run

    if rebuild and (model or dimension is not None):
        raise typer.BadParameter("--rebuild is for the model in use: leave out --model and --dimension")
    chosen = settings.load()
    if dimension is None:
        dimension = 0 if model else chosen.dimension
    open_memory()
    try:
        with progress_bar(MofNCompleteColumn()) as progress:
            task = progress.add_task("loading the model", total=None)
            done = run.reembed(
                model or chosen.embedding_model,
                dimension=dimension,
                rebuild=rebuild,
                progress=lambda made, to_make: progress.update(
                    task, description="embedding", completed=made, total=to_make
                ),
            )
    except KeyboardInterrupt:
        same = f"claude-mem reembed --model {model}" if model else "claude-mem reembed"
        raise ClaudeMemError(f"stopped; the vectors computed so far are kept. To continue: {same}") from None
    if print_json(dataclasses.asdict(done), as_json=as_json):
        return
    print_line(f"{done.made} vectors computed, {done.there} existed, {done.total} in all: {done.key}.")
    if done.is_swapped:
        print_line(f"Search uses {done.model} from now on.")
    _say_deaf(done.is_told)


def _fit(record: ModelRecord, *, as_json: bool) -> None:
    """Fit a model's weight beside words on this memory, store it, and tell the web process."""
    from claude_mem_lite.search import embedder, fitting
    from claude_mem_lite.search.embedder import weights
    from claude_mem_lite.search.embedder.records import MEANING
    from claude_mem_lite.search.reembed import tell_web

    open_memory(read_only=True)
    model = embedder.load(record)
    with progress_bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("embedding summaries", total=None)
        found = fitting.fit(
            model, advance=lambda made, wanted: progress.update(task, completed=made, total=wanted)
        )
    weights.keep(model.record.key, found.meaning)
    is_told = tell_web()
    if print_json(
        dataclasses.asdict(found) | {"was": model.record.meaning, "web_told": is_told}, as_json=as_json
    ):
        return
    print_line(
        f"{found.model}: a cosine of 1 now adds {found.meaning:g} points to the score of words, before "
        f"{model.record.meaning:g}. nDCG@10 of {found.titles} titles as queries on {found.rows} rows: "
        f"{found.ndcg:.3f}; with the default of {MEANING:g}: {found.ndcg_default:.3f}."
    )
    _say_deaf(is_told)


def _say_deaf(is_told: bool | None) -> None:  # noqa: FBT001  (the answer of `tell_web`)
    if is_told is False:
        errors.print("[yellow]the web process did not answer:[/yellow] claude-mem restart")


def _row(model: Model) -> tuple[Text, ...]:
    """Return the table cells of a model."""
    vectors = [
        f"{count}" if dimension == model.dimension else f"{count} of {dimension}"
        for dimension, count in sorted(model.vectors.items())
    ]
    return (
        Text(model.name, style="bold green" if model.is_in_use else ""),
        Text(str(model.dimension or "")),
        Text(f"{model.size_bytes / 2**20:.0f} MiB" if model.path else ""),
        Text(", ".join(vectors)),
        Text(model.path or f"claude-mem model download {model.setting}", style="dim"),
    )
