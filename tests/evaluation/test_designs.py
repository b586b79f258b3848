"""Who meets whom."""

import pytest

from pocket_uno_env.evaluation.line_ups import MAX_ORDERS, DesignError, line_ups


@pytest.mark.parametrize(
    ("numbers", "seats", "design", "expected"),
    [
        ([0, 1], 2, "auto", [(0, 1)]),
        ([0, 0], 2, "auto", [(0, 0)]),
        ([0], 2, "auto", [(0, 0)]),
        ([0], 3, "auto", [(0, 0, 0)]),
        ([0, 1, 2], 2, "auto", [(0, 1), (0, 2), (1, 2)]),
        ([0, 1, 2], 3, "auto", [(0, 1, 2)]),
        ([0, 1, 1], 3, "auto", [(0, 1, 1)]),
        ([0, 1], 4, "auto", [(0, 1, 1, 1), (1, 0, 0, 0)]),
        ([0, 0], 3, "auto", [(0, 0, 0)]),
        ([0, 1, 2], 2, "gauntlet", [(0, 1), (0, 2)]),
        ([2, 1, 0], 3, "gauntlet", [(2, 1, 1), (2, 0, 0)]),
        ([0, 1], 2, "round-robin", [(0, 1)]),
        ([0, 1, 2], 2, "mixed", [(0, 1), (0, 2), (1, 2)]),
        ([0, 1, 2], 3, "mixed", [(0, 1, 2), (0, 2, 1)]),
        ([0, 1], 3, "mixed", [(0, 0, 1), (0, 1, 1)]),
        ([0, 1], 4, "mixed", [(0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 1)]),
        ([0], 3, "gauntlet", [(0, 0, 0)]),
        ([0, 1, 2], 2, "rivals", [(0, 2), (1, 2)]),
        ([0, 1, 2, 3], 3, "rivals", [(0, 2, 2), (1, 2, 2), (0, 3, 3), (1, 3, 3)]),
    ],
)
def test_line_ups(numbers, seats, design, expected):
    assert line_ups(numbers, seats, design) == expected


def test_more_agents_than_seats_meet_in_ordered_pairs():
    tables = line_ups(range(4), 3)
    assert len(tables) == len(set(tables)) == 4 * 3
    assert all(
        one != other and table[1:] == (other, other)
        for table in tables
        for one, other in [table[:2]]
    )


def test_mixed_tables_seat_every_group_in_every_order():
    tables = line_ups(range(5), 4, "mixed")
    assert len(tables) == 5 * 6
    # At each table everyone is the left neighbour of everyone equally often.
    pairs = {}
    for table in tables:
        for one, other in zip(table, table[1:] + table[:1], strict=True):
            pairs[one, other] = pairs.get((one, other), 0) + 1
    assert len(pairs) == 5 * 4
    assert len(set(pairs.values())) == 1


def test_large_tables_get_some_orders():
    tables = line_ups(range(10), 10, "mixed")
    assert len(tables) == len(set(tables)) == MAX_ORDERS
    assert tables == line_ups(range(10), 10, "mixed")
    assert line_ups([0, 1], 10, "mixed")[0] == (0,) * 9 + (1,)


@pytest.mark.parametrize(
    ("numbers", "seats", "design", "message"),
    [
        ([0, 1], 2, "swiss", "expected one of"),
        ([0, 1, 2], 2, "table", "one for each seat"),
        (list(range(40)), 5, "mixed", "name fewer"),
        (list(range(9)), 10, "mixed", "name fewer"),
    ],
)
def test_designs_that_do_not_fit_are_refused(numbers, seats, design, message):
    with pytest.raises(DesignError, match=message):
        line_ups(numbers, seats, design)
