"""The benchmark of session questions: the package, team and calls of code questions, with sessions and questions of its own."""

from dataclasses import replace

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import decisions_stage
from assets.code_qa.documents import team_stage
from assets.code_qa.pipeline import what_can_be_run_again
from assets.code_qa.records.questions import PackageTask
from assets.code_qa.session_questions.questions import ask_about_sessions
from assets.code_qa.session_questions.team import SessionWorld
from assets.code_qa.sources import CODE_SOURCES, ready_to_execute
from assets.code_qa.tables import PACKAGE_TABLES
from assets.engine.stage import Stage
from assets.memory_items.ablation import READ, ReadingSizes
from assets.memory_items.benchmark import BY_READING, AcceptedTask, document_benchmark
from assets.memory_items.questions import chain_question_rows
from assets.memory_items.tasks import TaskQuestion
from assets.recipe.code_qa import SessionQuestionsRecipe
from assets.reporting.asset_description import AssetDescription

SQ_SOURCES = replace(CODE_SOURCES, name="sq_sources")
SQ_BEHAVIOURS = replace(CODE_BEHAVIOURS, name="sq_behaviours", needs=(SQ_SOURCES,))
SQ_DECISIONS = decisions_stage(
    "sq_decisions",
    SessionWorld,
    version=9,
    needs=(SQ_SOURCES, SQ_BEHAVIOURS),
    description="What an invented team settled in tickets and agreed on for functions, with what it gave up. The call of a "
    "rule was really run; which of its results the team wants is drawn, so that knowing the package does not help.",
)
SQ_SESSIONS = team_stage(
    "sq_sessions",
    SessionWorld,
    version=9,
    needs=(SQ_SOURCES, SQ_BEHAVIOURS, SQ_DECISIONS),
    description="The team's sessions, signed and dated: rules of tickets, what they replaced, proposals, conventions, "
    "and calls with their output, which were really run. A reader finds each statement again.",
)
SQ_QUESTIONS = Stage(
    name="sq_questions",
    record=TaskQuestion,
    make=ask_about_sessions,
    version=2,
    needs=(SQ_SOURCES, SQ_DECISIONS, SQ_SESSIONS),
    description=AssetDescription(
        group="tasks",
        description="One question about the sessions, worded by program: a decision, a failed path, a convention, or whether "
        "a statement still counts. Its key follows from what the sessions tell.",
        rows=chain_question_rows,
        paper="MemGym",
    ),
)
SESSION_QUESTIONS = document_benchmark(
    "sq_",
    recipe=SessionQuestionsRecipe,
    ask=SQ_QUESTIONS,
    certify=replace(BY_READING, calls={READ: ReadingSizes(hop=1250, task=350, shown=650).last_ablation()}),
    accept=AcceptedTask(
        record=PackageTask,
        noun="question",
        own_fields=what_can_be_run_again,
        needs=(SQ_SOURCES, SQ_BEHAVIOURS),
        tables=PACKAGE_TABLES,
    ),
    resolve=ready_to_execute,
)
