"""eval compression and eval benchmark: score observations, and compare those of two models."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite import keys, settings
from claude_mem_lite.cli.app import evaluate
from claude_mem_lite.cli.options import AsJson, Yes, moment
from claude_mem_lite.cli.output import (
    confirmed,
    console,
    errors,
    figure,
    open_memory,
    print_json,
    print_table,
    table_of,
    working,
)
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claude_mem_lite.evals.calls import Caller
    from claude_mem_lite.evals.compression import Evaluated
    from claude_mem_lite.settings import Settings

LONGEST_WAIT_S = 60.0
_FORMS = {
    "quality": ".3f",
    "structural_validity": ".2f",
    "title_quality": ".2f",
    "info_preservation": ".2f",
    "decision_rationale": ".2f",
    "compression_ratio": ".1f",
    "latency_ms": ",.0f",
    "usd": ".5f",
}

Since = Annotated[str, typer.Option(metavar="WHEN", help="Only newer ones: 2026-11-01, 12h, 2d.")]
Judge = Annotated[
    str, typer.Option("--judge", metavar="MODEL", help="The judging model; default: the one in the settings.")
]


@evaluate.command()
def compression(
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Use at most this many, the newest.")
    ] = 20,
    since: Since = "",
    with_qag: Annotated[
        bool, typer.Option("--with-qag", help="Have a model judge what is preserved; costs money.")
    ] = False,
    judge: Judge = "",
    as_json: AsJson = False,
) -> None:
    """Score the stored observations, by who wrote them: the rules or a model.

    The scores are structure, title, size, time and dollars. With --with-qag a
    model also judges whether they answer questions about their raw events and
    give reasons; then only those whose raw events are kept are scored.
    """
    from claude_mem_lite.evals import compression as quality
    from claude_mem_lite.evals import samples
    from claude_mem_lite.evals.judge import Judge as AskingJudge
    from claude_mem_lite.storage import evals as eval_rows

    after, chosen = moment(since) if since else "", settings.load()
    caller = _caller(chosen) if with_qag else None
    open_memory(read_only=not with_qag)
    rows = (
        samples.kept_newest(limit, since=after)
        if with_qag
        else eval_rows.observations(since=after, limit=limit)
    )
    asking = AskingJudge(caller, judge or chosen.evals.judge) if caller else None
    found: list[Evaluated] = []
    stopped = _until_stopped(
        quality.evaluate(rows, asking, quality.efforts(since=after)), found, len(rows), quiet=as_json
    )
    told = {
        "writers": quality.by_writer(found),
        "judge": asking.model if asking else None,
        **_spent(caller, stopped),
        "observations": [
            {"id": each.observation_id, "title": each.title, "written_by": each.written_by}
            | each.score.as_json()
            | {"note": each.note}
            for each in found
        ],
    }
    if not print_json(told, as_json=as_json):
        _show_writers(told)
    if stopped:
        raise typer.Exit(1)


@evaluate.command()
def benchmark(  # noqa: PLR0913  (each is an option of the command)
    *,
    model_a: Annotated[
        str, typer.Option(metavar="MODEL", help='A model, or "local"; default: the one in use.')
    ] = "",
    model_b: Annotated[str, typer.Option(metavar="MODEL", help='A model, or "local".')] = "local",
    count: Annotated[
        int, typer.Option("--samples", min=1, max=1_000, help="Number of captures to compare.")
    ] = 30,
    since: Since = "",
    judge: Judge = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Have two writers describe the same captures and a judge score both; costs money, so it asks first.

    It replays tool calls whose raw events are kept and changes nothing in the
    memory. A difference counts as shown if its 95 % interval does not span 0
    and there are enough pairs.
    """
    from claude_mem_lite.evals import benchmark as replay
    from claude_mem_lite.evals import samples
    from claude_mem_lite.evals.judge import Judge as AskingJudge

    chosen = settings.load()
    models = (model_a or chosen.model, model_b)
    if models[0] == models[1]:
        raise typer.BadParameter(f"both models are {models[0]}: give another --model-a or --model-b")
    caller = _caller(chosen)
    open_memory()
    asking = AskingJudge(caller, judge or chosen.evals.judge)
    drawn = samples.replayable(chosen.tiers, count=count, since=moment(since) if since else "")
    cost = replay.estimate(drawn, models, asking.model, caller)
    confirmed(
        _warning(cost.requests, cost.expected_usd, cost.worst_usd, caller, (*models, asking.model)), yes=yes
    )
    found: list[Any] = []
    stopped = _until_stopped(replay.run(drawn, models, asking), found, len(drawn), quiet=as_json)
    pairs = [each for each in found if each]
    told = {
        "model_a": models[0],
        "model_b": models[1],
        "judge": asking.model,
        "samples": len(drawn),
        "pairs": len(pairs),
        "expected_usd": cost.expected_usd,
        **_spent(caller, stopped),
        **replay.report(pairs),
    }
    if not print_json(told, as_json=as_json):
        _show_benchmark(told, replay.COMPARED)
    if stopped:
        raise typer.Exit(1)


def _caller(chosen: Settings) -> Caller:
    """Return a caller that takes turns with the services and waits out pauses of up to a minute."""
    from claude_mem_lite.claude import rewrite
    from claude_mem_lite.evals.calls import Caller

    if chosen.credential is None:
        raise ClaudeMemError(f"the judge was not asked: {keys.about('', chosen.api_key_from)}")
    return Caller(chosen, turn=lambda: rewrite.turn(wait=True), pause=_pause)


def _pause(pause_s: float, reason: str) -> bool:
    if pause_s > LONGEST_WAIT_S:
        return False
    errors.print(Text(f"{reason}: retrying in {pause_s:.0f} s", style="dim"))
    time.sleep(pause_s)
    return True


def _until_stopped(run: Any, found: list[Any], of: int, *, quiet: bool) -> str:
    """Add what a run yields to `found`; return why the run was stopped, "" if it finished."""
    from claude_mem_lite.claude.request_cycle import StoppedError

    with working("evaluating", quiet=quiet) as say:
        try:
            for each in run:
                found.append(each)
                say(f"evaluating {len(found)} of {of}")
        except StoppedError as stopped:
            return stopped.step.reason
    return ""


def _spent(caller: Caller | None, stopped: str) -> dict[str, Any]:
    return {
        "spent_usd": round(caller.usd, 6) if caller else 0.0,
        "turned_down": dict(caller.turned_down) if caller else {},
        "stopped": stopped,
    }


def _warning(count: int, expected: float, worst: float, caller: Caller, models: Sequence[str]) -> str:
    from claude_mem_lite.claude.cost import left_today

    chosen = caller.settings
    left = max(0.0, left_today(chosen, now=time.time()))
    unknown = sorted({name for name in models if name != "local" and name not in chosen.prices})
    told = f"{count} requests will cost about ${expected:.2f}, ${worst:.2f} at the most; "
    told += f"${left:.2f} of today's ${chosen.daily_budget_usd:.2f} is left"
    told += ", so the run will stop early." if expected > left else "."
    return told + (f" No price is known for {', '.join(unknown)}." if unknown else "")


def _show_writers(told: Mapping[str, Any]) -> None:
    if not told["observations"]:
        console.print("There are no observations of tool calls yet.")
        return
    table = table_of(["", *map(printable, told["writers"])])
    for name, form in ({"observations": ",", "judged": ","} | _FORMS).items():
        table.add_row(head(name), *(figure(row[name], form) for row in told["writers"].values()))
    print_table(table, heads=True)
    measured = ", ".join(head(name) for name in told["writers"]["all"]["measured"])
    rest = "" if told["judge"] else "; the rest needs --with-qag"
    console.print(f"quality is the weighted mean of {measured}{rest}")
    _show_end(told)


def _show_benchmark(told: Mapping[str, Any], compared: Sequence[str]) -> None:
    columns = ("", told["model_a"], told["model_b"], "difference", "95 % interval", "")
    table = table_of([printable(column) for column in columns])
    for name in compared:
        form, by = _FORMS[name], told["a_minus_b"][name]
        numbers = [figure(told[side][name], form) for side in ("a", "b")]
        if by is None:
            table.add_row(head(name), *numbers, "–", "", "not measured")
            continue
        signed = form if form.startswith("+") else f"+{form}"
        interval = f"{by['low']:{signed}} to {by['high']:{signed}}"
        table.add_row(head(name), *numbers, f"{by['mean']:{signed}}", interval, _said_of(by))
    print_table(table, heads=True)
    console.print(
        f"{told['pairs']} of {told['samples']} captures compared, judged by {printable(told['judge'])}"
    )
    _show_end(told)


def _said_of(by: Mapping[str, Any]) -> str:
    from claude_mem_lite.evals.benchmark import MIN_PAIRS

    if by["pairs"] < MIN_PAIRS:
        return "too few pairs to tell"
    return "a difference" if by["is_shown"] else "no difference shown"


def _show_end(told: Mapping[str, Any]) -> None:
    for reason, times in told["turned_down"].items():
        errors.print(Text(f"not judged, {times} times: {printable(reason)}", style="yellow"))
    if told["spent_usd"]:
        console.print(f"${told['spent_usd']:.4f} spent; claude-mem cost includes it.")
    if told["stopped"]:
        errors.print(Text.assemble(("stopped: ", "yellow"), printable(told["stopped"])))


def head(name: str) -> str:
    """Return the heading of a figure."""
    return {"info_preservation": "information", "decision_rationale": "reasons", "usd": "$ each",
            "compression_ratio": "chars a token", "structural_validity": "valid", "title_quality": "title",
            "latency_ms": "ms"}.get(name, name)  # fmt: skip
