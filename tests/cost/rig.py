"""Tables with round figures, so that a bill can be computed by hand."""

from greenroom.cost.tables import Operations, Price, Prices, Units, UnitTable

UNITS = UnitTable(
    measured_at_version="by hand",
    message_bytes=1000,
    operations=Operations(
        append=Units(read=2, write=20, bytes_stored=3000),
        thread_page=Units(read=6, write=0, bytes_stored=0),
        inbox=Units(read=4, write=0, bytes_stored=0),
        sync_nothing_new=Units(read=1, write=0, bytes_stored=0),
        sync_one_message=Units(read=4, write=0, bytes_stored=0),
        mark_read=Units(read=4, write=14, bytes_stored=0),
        acknowledge=Units(read=4, write=10, bytes_stored=0),
        start_thread=Units(read=8, write=40, bytes_stored=5000),
        edit=Units(read=4, write=12, bytes_stored=1000),
        delete=Units(read=4, write=12, bytes_stored=2000),
        typing=Units(read=2, write=2, bytes_stored=0),
        presence=Units(read=0, write=1, bytes_stored=0),
        recheck=Units(read=0.5, write=0, bytes_stored=0),
        look=Units(read=3, write=0, bytes_stored=0),
    ),
)

PRICES = Prices(
    dynamodb_write=Price("units", 0.5, per=1e6),
    dynamodb_read=Price("units", 0.1, per=1e6),
    dynamodb_storage=Price("GB", 0.25, free=25),
    dynamodb_recovery=Price("GB", 0.2),
    s3_storage=Price("GB", 0.02),
    s3_put=Price("requests", 5, per=1e6),
    s3_get=Price("requests", 0.5, per=1e6),
    lambda_request=Price("requests", 0.2, per=1e6, free=1e6),
    lambda_compute=Price("GB-s", 2e-5, free=4e5),
    gateway_request=Price("requests", 1, per=1e6),
    transfer_out=Price("GB", 0.1, free=100),
    server_vcpu=Price("hours", 0.04),
    server_memory=Price("GB-hours", 0.005),
    postgres_smallest=Price("hours", 0.01),
    postgres_vcpu=Price("hours", 0.08),
    postgres_storage=Price("GB", 0.1),
)
