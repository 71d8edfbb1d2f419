"""What is known of dashboard issues, in both databases."""

from pathlib import Path

import pytest

from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import DashboardIssue
from bot.registry.dashboards import StoredDashboards
from bot.store.database import Database
from tests.databases import BOTH, a_database_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return a_database_of(request.param, request, tmp_path)


async def test_an_issue_is_kept_and_one_of_another_version_counts_as_unknown(
    database: Database,
) -> None:
    known = StoredDashboards(database)
    assert await known.find(1) == DashboardIssue()
    policy = RepositoryPolicy(dashboard_issue=True, origins={"dashboard_issue": "a:1"})
    assert await known.revise(1, lambda one: one.with_(number=7, policy=policy))
    assert not await known.revise(1, lambda one: one.with_(number=7))
    assert await StoredDashboards(database).find(1) == DashboardIssue(number=7, policy=policy)
    assert (await known.find(2)).number is None
    newer = 'UPDATE dashboard_issue SET value = \'{"number": "newer"}\''
    await database.do(lambda tx: tx.change(newer))
    assert await known.find(1) == DashboardIssue()
    assert await known.revise(1, lambda one: one.with_(number=8))
