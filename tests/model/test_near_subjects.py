"""Which stored subjects are one slip of a finger away from a filter."""

import pytest

from jsdoctor.model.near_subjects import Nearness, nearness
from jsdoctor.replies.near_subjects import BucketUploads
from jsdoctor.sources.servers.near_subjects import bucket_uploads


@pytest.mark.parametrize(
    ("filter_", "subject", "expected"),
    [
        ("orders.shiped", "orders.shipped", Nearness.LETTER),
        ("orders.shippped", "orders.shipped", Nearness.LETTER),
        ("orders.shopped", "orders.shipped", Nearness.LETTER),
        ("orders.shpiped", "orders.shipped", Nearness.LETTER),
        ("orders.shippde", "orders.shipped", Nearness.LETTER),
        ("order.*.shipped", "orders.7.shipped", Nearness.END),
        ("oders.*.shipped", "orders.7.shipped", Nearness.LETTER),
        ("oders.>", "orders.7.shipped", Nearness.LETTER),
        ("orders.created", "orders.create", Nearness.END),
        ("orders.creates", "orders.created", Nearness.END),
        ("Orders.shipped", "orders.shipped", Nearness.CASE),
        ("orders.shipped", "orders.shipped", None),
        ("orders.*", "orders.shipped", None),
        ("orders.shiped", "orders.shipped.7", None),
        ("oders.shiped", "orders.shipped", None),
        ("region1.new", "region2.new", None),
        ("eu-west.new", "eu_west.new", None),
        ("orders.new", "orders.now", None),
        ("orders.shifted", "orders.shipped", None),
        ("orders.>", "orders", None),
    ],
)
def test_nearness(filter_: str, subject: str, expected: Nearness | None) -> None:
    assert nearness(filter_, subject) is expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, BucketUploads(0, 0)),
        ({"$O.b.C.one": 3, "$O.b.M.name": 1}, BucketUploads(1, 1)),
        ({"$O.b.C.one": 3, "$O.b.C.two": 5, "$O.b.C.three": 4, "$O.b.M.name": 1}, BucketUploads(3, 1, 7)),
        ({"$O.b.C.one": 3, "$O.b.M.name": 1, "$O.b.M.deleted": 1}, BucketUploads(1, 2)),
        ({"$KV.b.C.one": 3, "$O.b.C": 1, "$O.b": 1, "orders": 2}, BucketUploads(0, 0)),
    ],
)
def test_uploads_and_objects_of_a_bucket(counts: dict[str, int], expected: BucketUploads) -> None:
    assert bucket_uploads(counts) == expected
