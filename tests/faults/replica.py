"""A second Valkey that replicates the first one while it can, and takes its place."""

import os
import signal
import subprocess
import time

from redis import Redis
from redis.exceptions import RedisError

from taskmill_local.child_processes import die_with_parent
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.valkey import program
from tests.waiting import eventually


class Replica:
    """In cluster mode, like its primary: it serves every slot once it is promoted."""

    def __init__(self, folder, primary_url):
        self._folder = folder
        self._primary = Redis.from_url(primary_url)
        self.port, self._bus_port = free_ports(2)
        self._own = Redis(host="127.0.0.1", port=self.port)
        self._process = None

    def start(self):
        self._folder.mkdir()
        settings = {
            "port": self.port,
            "cluster-port": self._bus_port,
            "dir": self._folder,
            "bind": "127.0.0.1",
            "cluster-enabled": "yes",
            "cluster-announce-ip": "127.0.0.1",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(program()), *words],
                stdout=log,
                stderr=log,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - it only asks the kernel
            )
        eventually(self._answers, within=30, reason="the replica answers")
        self._follow()
        return self

    def stop(self):
        self._own.close()
        self._primary.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def cut_off(self, *, seconds):
        """Disconnect it for a while; return how many bytes it then lacks."""
        self._primary.execute_command("ACL", "SETUSER", "default", "-psync")
        self._primary.execute_command("CLIENT", "KILL", "TYPE", "REPLICA")
        time.sleep(seconds)  # the very fault: what is written meanwhile is forgotten
        written = self._primary.info("replication")["master_repl_offset"]
        return written - self._own.info("replication")["slave_repl_offset"]

    def take_over(self):
        """Become the primary without the others' agreement: they are dead."""
        self._own.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
        eventually(self._takes_writes, within=20, reason="the replica takes writes")

    def _follow(self):
        answer = self._primary.execute_command("CLUSTER MYID")
        primary = answer if isinstance(answer, str) else answer.decode()
        port = self._primary.connection_pool.connection_kwargs["port"]
        bus_port = self._primary.config_get("cluster-port")["cluster-port"]
        self._own.execute_command("CLUSTER MEET", "127.0.0.1", port, bus_port)
        eventually(lambda: self._knows(primary), within=20, reason="the replica knows its primary")
        self._own.execute_command("CLUSTER REPLICATE", primary)
        eventually(self._is_following, within=30, reason="the replica has caught up")

    def _knows(self, primary):
        nodes = self._own.execute_command("CLUSTER NODES").values()
        return any(one["node_id"] == primary and "handshake" not in one["flags"] for one in nodes)

    def _answers(self):
        try:
            return self._own.ping()
        except RedisError:
            return False

    def _is_following(self):
        answer = self._own.info("replication")
        return answer["role"] == "slave" and answer["master_link_status"] == "up"

    def _takes_writes(self):
        is_ok = self._own.execute_command("CLUSTER INFO")["cluster_state"] == "ok"
        return is_ok and self._own.info("replication")["role"] == "master"
