"""A real broker with TLS and SCRAM listeners, and with access control."""

from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from taskmill_local.stores import jars
from taskmill_local.stores.java import Java
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.server import Server

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
listeners=CONTROLLER://127.0.0.1:{controller},{listeners}
advertised.listeners={listeners}
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={data}
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
"""


async def start_secured_kafka(
    server: Server, java: Java, cert: trustme.LeafCert, login: str
) -> dict[str, str]:
    """Start the broker and return the address of each listener."""
    server.folder.mkdir(parents=True)
    names = ("PLAINTEXT", "SSL", "SASL_SSL")
    controller, *ports = free_ports(4)
    places = {name: f"localhost:{port}" for name, port in zip(names, ports, strict=True)}
    settings = server.folder / "server.properties"
    settings.write_text(
        _PROPERTIES.format(
            controller=controller,
            listeners=",".join(f"{name}://{place}" for name, place in places.items()),
            data=server.folder / "data",
            keystore=_write_keystore(server.folder / "server.pem", cert),
        )
    )
    command = (str(java.program), *java.silencing(), "-Xmx256m", "-XX:TieredStopAtLevel=1")
    command += ("-cp", jars.class_path())
    tool = ("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg")
    scram = ("--add-scram", f"SCRAM-SHA-512=[{login}]")
    await server.run(*command, *tool, "-c", str(settings), *scram, environment={})
    await server.launch(*command, "kafka.Kafka", str(settings), environment={})
    return places


def _write_keystore(file: Path, cert: trustme.LeafCert) -> Path:
    """Write the key as PKCS 8: Java reads no other form."""
    key = load_pem_private_key(cert.private_key_pem.bytes(), password=None)
    chain = b"".join(blob.bytes() for blob in cert.cert_chain_pems)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(pem + chain)
    return file
