"""The parameters of each address, validated by pydantic; a wrong one is answered with 422."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from claude_mem_lite.context import Source
from claude_mem_lite.kinds import Type
from claude_mem_lite.storage import projects
from claude_mem_lite.storage.learnings import Sort

if TYPE_CHECKING:
    from starlette.requests import Request


def _project(path: str) -> str:
    """Return the project that a folder belongs to."""
    if not os.path.isabs(path):
        raise ValueError("must be an absolute path")
    return projects.of(path)


Time = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d(T[\d:.]+Z?)?)?$")]
ProjectPath = Annotated[str, AfterValidator(_project)]


class Parameters(BaseModel):
    """The base of all parameters: unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


class BlockParameters(Parameters):
    """Parameters of the addresses that answer with a block.

    A hook sends the name of its event as `hook`, and its `deadline` in seconds of this machine's monotonic
    clock: it gets the output to print, or nothing once it is too late; and what it gets counts as shown.
    """

    project_path: ProjectPath
    session_id: str = ""
    explain: bool = False
    hook: Literal[
        "", "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStart"
    ] = ""
    deadline: float = 0.0

    @property
    def is_late(self) -> bool:
        """Tell whether the hook that asked has given up."""
        return bool(self.hook) and time.monotonic() > self.deadline


class ContextParameters(BlockParameters):
    """Parameters of `/api/context`; `idle_s` is the time since a forked conversation's last answer."""

    source: Source = "startup"
    idle_s: float | None = Field(None, ge=0, le=1e9)


class RecallParameters(BlockParameters):
    """Parameters of `/api/recall`: a prompt."""

    q: str = Field(max_length=20_000)


class SubagentParameters(BlockParameters):
    """Parameters of `/api/subagent`: a sub-agent of a session, or the task `q` of a hypothetical one."""

    agent_id: str = ""
    agent_type: str = ""
    q: str | None = Field(None, max_length=20_000)


class TouchParameters(BlockParameters):
    """Parameters of `/api/touch`: the file that a tool named, absolute or relative to the project."""

    file: Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(projects.in_project)]


class FailureParameters(BlockParameters):
    """Parameters of `/api/failure`: the tool whose call failed, its command or file, and the error.

    `work_tree` is the folder of the work, if it is not the project's own.
    """

    tool: str = Field(min_length=1, max_length=200)
    command: str = Field("", max_length=4_096)
    file: str = Field("", max_length=4_096)
    error: str = Field(min_length=1, max_length=8_192)
    work_tree: str = Field("", max_length=4_096)


class SearchParameters(Parameters):
    """Parameters of `/api/search`; with `project` it searches that project alone, without it all."""

    q: str = Field(min_length=1, max_length=2_000)
    limit: int = Field(10, ge=1, le=100)
    type: Type = "all"
    project: ProjectPath | None = None
    since: Time = ""
    until: Time = ""
    file: str = ""
    session: str = ""
    tool: str = ""
    explain: bool = False


class DetailParameters(Parameters):
    """Parameters of `/api/observation/ID`; with `project` an id of another project is unknown."""

    project: ProjectPath | None = None


class CallGraphParameters(Parameters):
    """Parameters of `/api/callgraph`; `file` is absolute or relative to its project, `limit` counts edges."""

    file: str = Field(min_length=1, max_length=4_096)
    project: ProjectPath | None = None
    limit: int = Field(200, ge=1, le=10_000)


class HistoryParameters(Parameters):
    """Parameters of `/api/function-history`; without `project` it looks in all projects."""

    name: str = Field(min_length=1, max_length=1_000)
    project: ProjectPath | None = None


class LearningsParameters(Parameters):
    """Parameters of `/api/learnings`, which never serves quarantined ones; no `project`: all projects."""

    category: str = ""
    project: ProjectPath | None = None
    state: Literal["active", "candidate", "stale", "superseded", "proposed"] = "active"
    sort: Sort = "confidence"
    limit: int = Field(100, ge=1, le=1_000)


class FindingsParameters(Parameters):
    """Parameters of `/api/findings`: a project, and the minimum number of sessions that met a failure."""

    project: ProjectPath
    sessions: int = Field(1, ge=1, le=10_000)
    limit: int = Field(100, ge=1, le=1_000)


class SummarizeParameters(Parameters):
    """Parameters of `/api/summarize`, as a JSON object; it waits for at most `wait_s` seconds."""

    session_id: str = Field(min_length=1)
    wait_s: float = Field(20, ge=0, le=60)


class EmbedParameters(Parameters):
    """Parameters of `/api/embed`: the consumer's texts."""

    texts: list[Annotated[str, Field(max_length=50_000)]] = Field(max_length=64)


ParametersT = TypeVar("ParametersT", bound=Parameters)


def parse(model: type[ParametersT], request: Request) -> ParametersT:
    """Return the parameters of a request's query.

    Raises: ValidationError: they are not what the address takes.
    """
    return model.model_validate(dict(request.query_params))
