"""Identifiers of runs, files, sandboxes and conversations: guessed, climbed out of, or of somebody else."""


def test_all_alike_not_found(service):
    reply = service.run("open('f', 'w').write('x')")
    file_id = reply.files[0]["file_id"]
    paths = [f"/v1/{kind}/{name}" for kind in ("files", "runs", "sandboxes", "conversations") for name in
             ("x", "0", "-1", "..", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%2fcanary-private.txt", "a%00b", "%ff", "a" * 300, file_id[:-1] + "x")]
    for path in paths:
        response = service.get(path)
        assert response.status in (400, 404), (path, response)
        assert b"canary" not in response.body and b"root:" not in response.body
    assert service.get(f"/v1/files/{file_id}", key=None).status in (401, 404)
