"""A thousand runs at once on two cores: each is answered, with its own result or with a 503 that says when to come back."""
from concurrent.futures import ThreadPoolExecutor


def test_none_is_lost_or_mixed_up(service):
    with ThreadPoolExecutor(120) as pool:
        responses = list(pool.map(lambda number: (number, service.post(body={"code": f"print({number})"}, timeout=60)), range(400)))
    answered = [(number, response) for number, response in responses if response.status == 200]
    refused = [response for _, response in responses if response.status != 200]
    assert all(response.json["stdout"] == f"{number}\n" for number, response in answered)
    assert all(response.status == 503 and int(response.headers["Retry-After"]) >= 1 for response in refused)
    assert len(answered) >= 60
    assert len({response.json["sandbox_id"] for _, response in answered}) == len(answered)
