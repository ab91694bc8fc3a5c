"""The shell and the tools of the image: none of them opens a connection, and none that could is there."""
from support.network import FAR_4


def test_no_connection(service, outside):
    outside.arrived()
    reply = service.run(f"""
        import shutil, subprocess
        for shell in ("sh", "bash", "dash", "ash", "zsh", "busybox"):
            if shutil.which(shell):
                done = subprocess.run([shell, "-c", "exec 3<>/dev/tcp/{FAR_4}/80 && echo open"], capture_output=True, text=True, timeout=5)
                print("open" in done.stdout)
        print([tool for tool in ("curl", "wget", "nc", "ncat", "socat", "ssh", "scp", "ftp", "telnet", "dig", "nslookup", "host", "getent", "ping", "traceroute",
                                 "openssl", "python2", "perl", "ruby", "gawk", "awk-net", "rsync", "git", "ip", "ss") if shutil.which(tool)])
        """)
    lines = reply.stdout.splitlines()
    assert "True" not in lines[:-1] and lines[:-1], "a shell is there, and opens nothing"
    assert lines[-1] in ("[]", "['getent']")
    assert outside.arrived() == {}
