"""Learning another run's random numbers from one's own: runs come from one template, a copy of its state is in each."""


def test_state_before_and_after_is_another_run_s(service):
    """A run that reads the whole state of every generator learns nothing about the next."""
    code = """
        import json, random, hashlib, numpy as np, os, uuid
        state = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()
        legacy = hashlib.sha256(np.random.get_state()[1].tobytes()).hexdigest()
        print(json.dumps([state, legacy, random.random(), float(np.random.rand()), os.urandom(8).hex(), str(uuid.uuid4())]))
        """
    seen = [service.run(code).printed for _ in range(5)] + [reply.printed for reply in service.run_all([code] * 5)]
    for column in zip(*seen):
        assert len(set(column)) == len(seen)


def test_python_s_own_seeding_cannot_be_fixed_from_a_run(service):
    service.run("import random, numpy as np, os; random.seed(1); np.random.seed(1); os.environ['PYTHONHASHSEED'] = '0'")
    first, second = (service.run("import random, numpy as np; print(random.random(), np.random.rand())").stdout for _ in range(2))
    assert first != second
