"""Meeting another run over sockets: abstract names and paths, with a run that listens at the same moment."""


def test_two_runs_cannot_meet(service):
    with service.hold("""
        import socket
        servers = []
        for name in (b"\\0meet", "/tmp/meet", "/mnt/data/meet", "/dev/shm/meet", "/home/nonroot/meet"):
            server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen(); servers.append(server)
        """) as listener:
        reply = service.run("""
            import errno, socket
            for name in (b"\\0meet", "/tmp/meet", "/mnt/data/meet", "/dev/shm/meet", "/home/nonroot/meet"):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                    try:
                        socket.socket(socket.AF_UNIX, kind).connect(name); print("met", name)
                    except OSError as problem:
                        print(errno.errorcode[problem.errno])
            """)
        assert "met" not in reply.stdout and len(reply.stdout.split()) == 15
        assert (listener.process.proc / "net" / "unix").read_text().count("meet") == 5, "the control: it does listen"
