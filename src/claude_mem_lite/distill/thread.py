"""Build the thread that a session left: goal, outcome, open ends, decisions, changes, tests. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import Noted, Ran, is_commit, open_failures, ran
from claude_mem_lite.distill.plan import open_steps
from claude_mem_lite.distill.rules.conversation import says_nothing, without_reason
from claude_mem_lite.distill.rules.teammates import RECEIVED
from claude_mem_lite.distill.statements import MOMENT, Statement, names, statements
from claude_mem_lite.distill.summary import has_bad_tests, test_verdict
from claude_mem_lite.quoting import quote_blocks
from claude_mem_lite.text import SIGNS, count, join, named_path, one_line, sentences

GOALS = ("Goal", "Asked last", "Asked last, answered", "Asked first")
IN_FLIGHT = "Changed, not committed"
# A shorter prompt (bytes) is an answer or a command: "leave it", "commit". A Chinese character has 3 bytes.
_GOAL_CHARS, _GOAL_BYTES = 200, 40
_MOST = 3  # decisions, and as many failures
_FAILED_CHARS = 240
_BEGINS, _OUTCOME_CHARS = 4, 100  # statements read of a report; characters of one that suffices alone
# Of shorter outcomes ("Then it stays with the copy.") readers would strike four in five.
_LEAST_OUTCOME_CHARS = 60
_FILES = 6
# A typed answer: characters of it and of its question, its fewest words, sentences from the question on.
_ANSWER_CHARS, _FEWEST_WORDS, _OPTIONS, ASKS = 240, 4, 4, "?\uff1f"
FULL_STOPS = ".\u3002"
_STOPS = f"{FULL_STOPS}!\uff01{ASKS}"
_ASIDE_CHARS = 12  # a question this short settles nothing: "Push?"
_SETTLED = "Decided by the user"
# `_DECIDED`: a reason or an alternative; `OPEN`: work left to do; each in ten languages.
_DECIDED = re.compile(
    r"\b(?:because|instead of|so that|decided|decision|never|no longer|reversed|rather than|must not"
    r"|on purpose|intentional(?:ly)?|chose|weil|stattdessen|entschieden|parce que|au lieu d[e']|décidé|porque"
    r"|en (?:lugar|vez) de|em vez de|decidi(?:mos|do|ó)|perché|invece di|deciso|потому что|вместо|решили)\b"
    r"|因为|而不是|决定|改用|代わりに|なぜなら|決め",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\b(?:next(?! to\b)|remaining|todo|still (?:open|needs?|fail\w*|to)|not (?:yet|done)|left (?:open|to)"
    r"|unfinished|waiting|pending|offen|noch nicht"
    r"|reste(?:nt)? ?:|reste à|pas encore|à faire|pendientes?|todavía no|falta(?:n|m)?|pendentes?|ainda não"
    r"|da fare|non ancora|manca(?:no)?|nog (?:niet|open|te doen)|zostało|zostaje|do zrobienia|jeszcze nie"
    r"|осталось|ещё не)(?!\w)"
    r"|待办|尚未|还没|未完了|残り|まだ"
    r"|(?:^|: )\[ \] ",  # a box that is not ticked
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_SIGN, _SIGNS_A_WORD = re.compile(f"[{SIGNS}]"), 2
_FIGURE = re.compile(r"\d|[A-Z]{3}")  # a number or an acronym
_SPANS = 4  # backticks; a statement with more compares code
# The client's prompt for a plan that the user has accepted, and its title.
_PLANNED = re.compile(r"\A(Implement the) following (plan:)\s+#+ (?:Plan: )?([^\n]+).*", re.DOTALL)
_PULL_REQUEST = re.compile(r"https?://[^\s\"'<>)]+/(?:pull|pulls|merge_requests|pull-requests)/\d+")


class Row(Noted, Protocol):
    """The fields of an observation that a thread needs."""

    @property
    def id(self) -> str:
        """The id of its event."""

    @property
    def created_at(self) -> str:
        """The time as UTC text."""

    @property
    def written_by(self) -> str:
        """The author of its text: "local" for the rules."""

    @property
    def detail(self) -> str | None:
        """What the summary leaves out: of a compaction, the sections about what stays true."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a row says; `label` is its kind ("Goal", "Decided"; "" for a plain statement).

    `head` is the text above a list item. `is_users` marks the user's own words, `is_deed` the title of an
    action, which other lines may also mention.
    """

    row_id: str
    at: str
    says: str
    label: str = ""
    is_users: bool = False
    is_deed: bool = False
    stands_for: tuple[str, ...] = ()
    head: str = ""

    @property
    def text(self) -> str:
        """The text with its label and its head."""
        return ": ".join(filter(None, (self.label, self.head, self.says)))


def thread_of(
    rows: Sequence[Row],
    *,
    plan: Iterable[dict[str, Any]] = (),
    quote: Callable[[str], str] = str,
    changes: Mapping[str, str] | None = None,
    later: Sequence[Sequence[Row]] = (),
) -> list[Said]:
    """Return the lines of a session's thread, most important first; the arguments are those of `state_of`."""
    goal = _goal(rows)
    asked = {said.row_id for said in goal}
    tested = _tested(rows)
    telling = without_replies(rows)
    return [
        *goal,
        *_came_to(telling),
        *_plan(telling, [quote(step) for step in open_steps(plan)]),
        # A failure before all tests passed is settled.
        *(said for said in _failing(rows, later) if not tested or said.at > tested[0].at),
        *tested,
        *_in_flight(rows, changes or {}),
        *_committed(rows),
        *(said for said in _decided(rows) if said.row_id not in asked),
        *_pull_request(rows),
    ]


def decisions(rows: Sequence[Row]) -> list[str]:
    """Return a session's last decisions with their reasons, newest last."""
    return [said.says for said in _decided(rows)][::-1]


def asked_in(prompt: str, chars: int) -> str:
    """Return a prompt, or a plan's title, in at most `chars` characters, with pasted blocks quoted."""
    return one_line(quote_blocks(_PLANNED.sub(r"\1 \2 \3", prompt), fences=True), chars)


def without_overtaken(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without reports on turns that edited nothing, if a report on edits came later.

    By then their proposals are done or dropped, and their findings fixed.
    """
    overtaken: set[str] = set()
    waiting: list[str] = []
    has_edited = False
    for row in rows:
        has_edited |= row.tool_name in EDITORS
        if row.tool_name == "Stop":
            if has_edited:
                overtaken.update(waiting)
            waiting = [] if has_edited else [*waiting, row.id]
            has_edited = False
    return [row for row in rows if row.id not in overtaken]


def without_replies(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without reports that state nothing ("You're welcome!") and follow one that may.

    Such a report ends a turn that used no tool.
    """
    found: list[Row] = []
    has_worked = has_report = False
    for row in rows:
        is_report = row.tool_name == "Stop"
        if is_report and has_report and not has_worked and not _tells(row):
            continue
        has_report |= is_report
        has_worked = not is_report and (has_worked or row.tool_name != "UserPromptSubmit")
        found.append(row)
    return found


def _tells(report: Row) -> bool:
    """Tell whether a statement of a report names something, gives a reason, leaves work open or is long."""
    return any(
        len(each.says) > _LEAST_OUTCOME_CHARS
        or names(each.text)
        or _FIGURE.search(each.text)
        or _is_decided(each)
        or OPEN.search(each.text)
        for each in statements(without_reason(report.summary)[0])
    )


def _goal(rows: Sequence[Row]) -> list[Said]:
    """Return the last prompt and the first; if the last is answered, the last that is long enough instead.

    A session to which only other agents spoke has the first message instead.
    """
    typed = [row for row in rows if row.tool_name == "UserPromptSubmit"]
    prompts = typed or [row for row in rows if row.tool_name == RECEIVED][:1]
    goal, last, answered, first = GOALS
    labelled = [(row, goal) for row in prompts]
    if len(prompts) > 1:
        asked, label = prompts[-1], last
        if any(row.tool_name == "Stop" and row.created_at > asked.created_at for row in rows):
            enough = (row for row in reversed(prompts) if len(row.summary.encode()) > _GOAL_BYTES)
            asked, label = next(enough, prompts[0]), answered
        labelled = [(asked, label), (prompts[0], first)]
    return [
        Said(row.id, row.created_at, asked_in(row.summary, _GOAL_CHARS), label, is_users=bool(typed))
        for row, label in labelled
    ]


def _came_to(rows: Sequence[Row]) -> list[Said]:
    """Return the outcome in the last report whose beginning says enough, else in the last that says anything.

    Reports on turns that edited something come before answers to other questions.
    """
    reports: dict[bool, list[Row]] = {True: [], False: []}  # by whether the turn edited something
    has_edited = False
    for row in rows:
        has_edited |= row.tool_name in EDITORS
        if row.tool_name == "Stop":
            reports[has_edited].insert(0, row)
            has_edited = False
    outcomes = [said for row in (*reports[True], *reports[False]) for said in _outcome(row)]
    return [said for said in outcomes if len(said.says) > _LEAST_OUTCOME_CHARS][:1] or outcomes[:1]


def _outcome(report: Row) -> list[Said]:
    """Return the beginning of a report, without decisions and open work, which have lines of their own.

    Statements that something passed or works are left out too: they are momentary, and "Tests" covers them.
    """
    stated = statements(without_reason(report.summary)[0])[:_BEGINS]
    told = [
        each
        for each in stated
        if not (
            says_nothing(each.says) or _is_decided(each) or OPEN.search(each.text) or MOMENT.search(each.text)
        )
    ]
    enough = 1 if told and len(told[0].text) > _OUTCOME_CHARS else 2
    return [Said(report.id, report.created_at, _listed(told[:enough]), "Came to")] if told else []


def _plan(rows: Sequence[Row], steps: Sequence[str]) -> list[Said]:
    """Return the next steps: those open in the plan, else what the last report says is still to do."""
    if steps and rows:
        return [Said(rows[-1].id, rows[-1].created_at, join(steps, 4, "; "), "Next")]
    for last in [row for row in rows if row.tool_name == "Stop"][-1:]:
        if left := [each for each in statements(without_reason(last.summary)[0]) if OPEN.search(each.text)]:
            return [Said(last.id, last.created_at, _listed(left), "Said to be open")]
    return []


def _failing(rows: Sequence[Row], later: Sequence[Sequence[Row]]) -> list[Said]:
    """Return the failed commands that have not succeeded since, and the last test run if it failed."""
    found = [Said(row.id, row.created_at, error, "Failing") for row, error in open_failures(rows, later)]
    tests = next((row for row in reversed(rows) if test_verdict(row)), None)
    if tests is not None and has_bad_tests(verdict := test_verdict(tests)):
        told = without_reason(tests.summary)[0]
        says = one_line(told[told.find(f": {verdict}") + 2 :], _FAILED_CHARS)
        found.append(Said(tests.id, tests.created_at, says, "Failing"))
    return found[-_MOST:]


def _tested(rows: Sequence[Row]) -> list[Said]:
    """Return the last command that ran all tests, if the last run passed, and the number of edits since."""
    runs = [(at, row, _together(ran(row, is_whole=True))) for at, row in enumerate(rows) if test_verdict(row)]
    at, row, command = next((run for run in reversed(runs) if run[2]), (0, None, ""))
    if row is None or has_bad_tests(test_verdict(runs[-1][1])):
        return []
    edits = sum(later.tool_name in EDITORS for later in rows[at + 1 :])
    after = f", {count(edits, 'edit')} since" if edits else ""
    return [Said(row.id, row.created_at, f"`{command}` passed{after}", "Tests")]


def _together(commands: Sequence[Ran]) -> str:
    """Join commands with "&&", after one `cd` if all share a folder; without folders if these differ."""
    folders = {command.folder for command in commands}
    rest = " && ".join(str(command._replace(folder="")) for command in commands)
    return f"cd {''.join(folders)} && {rest}" if len(folders) == 1 and folders != {""} else rest


def _committed(rows: Sequence[Row]) -> list[Said]:
    """Return the last commit, and the number of commits before it."""
    commits = [row for row in rows if is_commit(row)]
    before = f", after {count(len(commits) - 1, 'other')}" if len(commits) > 1 else ""
    return [Said(row.id, row.created_at, f"{row.title}{before}") for row in commits[-1:]]


def _in_flight(rows: Sequence[Row], changes: Mapping[str, str]) -> list[Said]:
    """Return one line with the project's files edited since the last commit and their changed functions."""
    edits = [row for row in _not_committed(rows) if row.tool_name in EDITORS][::-1]
    touched = (path for row in edits for path in row.files_touched if not path.startswith(("/", "~", "..")))
    paths = list(dict.fromkeys(touched))[:_FILES]
    if not paths:
        return []
    called = {path: named_path(path) for path in paths}
    told = (f"{called[path]} ({changes[path]})" if changes.get(path) else called[path] for path in paths)
    ids = tuple(row.id for row in edits)
    return [Said(ids[0], edits[0].created_at, ", ".join(told), IN_FLIGHT, stands_for=ids)]


def _not_committed(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows since the last commit."""
    committed = max((at for at, row in enumerate(rows) if is_commit(row)), default=-1)
    return rows[committed + 1 :]


def _decided(rows: Sequence[Row]) -> list[Said]:
    """Return the last decisions, newest first: those settled by the user, and those that reports explain."""
    by_user = {said.row_id: said for said in settled(rows)}
    found = []
    for row in reversed(without_overtaken(rows)):
        if row.id in by_user:
            found.append(by_user[row.id])
        elif row.tool_name == "Stop":
            decided = [each for each in statements(without_reason(row.summary)[0]) if _is_decided(each)]
            if decided:
                found.append(Said(row.id, row.created_at, _listed(decided), "Decided"))
    return found[:_MOST]


def _is_decided(told: Statement) -> bool:
    """Tell whether a statement gives a reason outside of code; `take B instead of A` in backticks is none."""
    return told.says.count("`") <= _SPANS and _DECIDED.search(_CODE.sub("", told.text)) is not None


def settled(rows: Iterable[Row]) -> Iterator[Said]:
    """Yield the user's decisions: answers through AskUserQuestion, or typed after a report's question."""
    report = ""
    for row in rows:
        if row.tool_name == "AskUserQuestion":
            told = sentences(without_reason(row.summary)[0])
            while len(" ".join(told)) > _ANSWER_CHARS and any(each[-1] in ASKS for each in told[1:]):
                told.pop(0)  # of a long question the end, since the answer counts
            choice = one_line(" ".join(told), _ANSWER_CHARS)
            yield Said(row.id, row.created_at, choice, _SETTLED, is_users=True)
        elif row.tool_name == "Stop":
            report = without_reason(row.summary)[0]
        elif row.tool_name == "UserPromptSubmit":
            question = _question(report) if _is_answer(row.summary) else ""
            report = ""
            if len(question) > _ASIDE_CHARS:
                says = f"“{question}” {one_line(row.summary, _ANSWER_CHARS)}"
                yield Said(row.id, row.created_at, says, _SETTLED, is_users=True)


def _question(report: str) -> str:
    """Return the question at the end of a report, possibly before a list of options; "" for none."""
    last = sentences(report)[-_OPTIONS:]
    return next((each for each in reversed(last) if each[-1] in ASKS and len(each) <= _ANSWER_CHARS), "")


def _is_answer(prompt: str) -> bool:
    """Tell whether a prompt may answer a question: short, at least four words, no command, no question."""
    words = len(prompt.split()) + len(_SIGN.findall(prompt)) // _SIGNS_A_WORD
    return (
        words >= _FEWEST_WORDS
        and len(prompt) <= _ANSWER_CHARS
        and prompt[0] not in "</"
        and prompt.rstrip()[-1] not in ASKS
    )


def _pull_request(rows: Sequence[Row]) -> list[Said]:
    """Return the pull request that was opened or mentioned last."""
    for row in reversed(rows):
        if row.tool_name in {"Bash", "Stop"} and (url := _PULL_REQUEST.search(f"{row.title}\n{row.summary}")):
            return [Said(row.id, row.created_at, url[0], "Pull request")]
    return []


def _listed(told: Sequence[Statement]) -> str:
    """Join the first two statements, without a repeated head; ";" separates those without a full stop."""
    texts = _without_repeated_heads((each.head, each.says) for each in told[:2])
    return " ".join(each if each[-1] in _STOPS else f"{each};" for each in texts).rstrip(";")


def joined(told: Iterable[tuple[str, str]]) -> str:
    """Join (head, text) pairs with ";", without full stops before it and without a repeated head."""
    *before, last = _without_repeated_heads(told) or [""]
    return "; ".join([*(text.rstrip(FULL_STOPS) for text in before), last])


def _without_repeated_heads(told: Iterable[tuple[str, str]]) -> list[str]:
    """Join each (head, text) pair, leaving out a head that the pair before has too."""
    found, above = [], ""
    for head, says in told:
        found.append(f"{head}: {says}" if head not in {"", above} else says)
        above = head
    return found
