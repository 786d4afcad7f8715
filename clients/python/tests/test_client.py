"""The client against a server that gives prepared answers."""

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shoal_client import Client, GateCheck, GateNotApproved, ShoalError
from shoal_client.retry import retry_after_seconds

MESSAGES = [{"role": "user", "content": "x"}]


def refusal(code, message="words"):
    return {"error": {"code": code, "message": message, "type": "x", "param": None}}


def chunk(content):
    body = {"choices": [{"delta": {"content": content}}]}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


class Answers:
    """One answer after the other: (status, headers, body); the last one again and again."""

    def __init__(self, *answers):
        self.answers = answers
        self.seen = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                outer.seen.append((self.command, self.path, dict(self.headers), body))
                given = outer.answers[min(len(outer.seen), len(outer.answers)) - 1]
                if given is None:
                    return
                status, headers, content = given
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def client_of(answers, pauses=None):
    kept = [] if pauses is None else pauses
    return Client(answers.url, "k", tenant="home", sleep=kept.append)


class Calls(unittest.TestCase):
    def test_a_change_has_one_key_for_all_its_attempts(self):
        with Answers((503, {}, refusal("draining")), (200, {}, {"ok": True})) as answers:
            self.assertEqual(client_of(answers).call("POST", "/v1/x", body={}), {"ok": True})
            first, second = (seen[2] for seen in answers.seen)
            self.assertEqual(first["authorization"], "Bearer k")
            self.assertEqual(first["x-svc-tenant"], "home")
            self.assertEqual(first["idempotency-key"], second["idempotency-key"])

    def test_a_query_leaves_out_what_is_not_given(self):
        with Answers((200, {}, {})) as answers:
            client_of(answers).call("GET", "/v1/x", {"a": True, "b": None, "c": "x y"})
            self.assertEqual(answers.seen[0][1], "/v1/x?a=true&c=x+y")
            self.assertNotIn("idempotency-key", answers.seen[0][2])

    def test_it_is_tried_three_times_with_growing_pauses(self):
        pauses = []
        with Answers((429, {}, refusal("rate_limited"))) as answers:
            with self.assertRaises(ShoalError) as raised:
                client_of(answers, pauses).call("GET", "/")
            self.assertEqual(len(answers.seen), 3)
        self.assertEqual((raised.exception.code, raised.exception.status), ("rate_limited", 429))
        self.assertTrue(2 <= pauses[0] <= 3 and 4 <= pauses[1] <= 5, pauses)

    def test_retry_after_is_kept_to_unless_it_is_too_long(self):
        pauses = []
        soon = (429, {"retry-after": "7"}, refusal("rate_limited"))
        with Answers(soon, (200, {}, {})) as answers:
            client_of(answers, pauses).call("GET", "/")
        self.assertTrue(7 <= pauses[0] <= 8, pauses)
        with Answers((503, {"retry-after": "3600"}, refusal("draining"))) as answers:
            with self.assertRaises(ShoalError):
                client_of(answers).call("GET", "/")
            self.assertEqual(len(answers.seen), 1)

    def test_what_is_refused_for_good_is_not_asked_again(self):
        for status in (302, 400, 401, 403, 404, 422, 500):
            with Answers((status, {"location": "/elsewhere"}, refusal("x"))) as answers:
                with self.assertRaises(ShoalError):
                    client_of(answers).call("POST", "/")
                self.assertEqual(len(answers.seen), 1)

    def test_nothing_that_listens_is_an_error_of_its_own(self):
        with Answers((200, {}, {})) as answers:
            url = answers.url
        with self.assertRaises(ShoalError) as raised:
            Client(url, "k", sleep=lambda _: None).call("GET", "/")
        self.assertEqual(raised.exception.code, "coordinator_unavailable")

    def test_what_takes_no_idempotency_key_is_not_asked_for_twice_when_its_answer_is_lost(self):
        paths = ("/v1/embeddings", "/v1/chat/completions", "/v1/responses", "/mcp/", "/a2a")
        with Answers(None) as answers:
            for path in paths:
                with self.assertRaises(ShoalError):
                    client_of(answers).call("POST", path, body={})
            self.assertEqual(len(answers.seen), len(paths))
            for method, path in (("POST", "/v1/skills/x"), ("GET", "/v1/responses/resp_1")):
                with self.assertRaises(ShoalError):
                    client_of(answers).call(method, path)
            self.assertEqual(len(answers.seen), len(paths) + 6)

    def test_an_answer_that_is_cut_off_is_asked_for_again(self):
        cut = (200, {"content-length": "100"}, b'{"a":')
        with Answers(cut, (200, {}, {"a": 1})) as answers:
            self.assertEqual(client_of(answers).call("POST", "/v1/x", body={}), {"a": 1})
            first, second = (seen[2] for seen in answers.seen)
            self.assertEqual(first["idempotency-key"], second["idempotency-key"])
        with Answers(cut) as answers:
            with self.assertRaises(ShoalError) as raised:
                client_of(answers).chat("m", MESSAGES)
            self.assertEqual(raised.exception.code, "coordinator_unavailable")
            self.assertEqual(raised.exception.message, "the answer was cut off")
            self.assertEqual(len(answers.seen), 1)

    def test_an_answer_that_is_no_json_is_an_error(self):
        for body in (b"<html>", b"\xff", b"[" * 100_000):
            with Answers((200, {}, body)) as answers:
                with self.assertRaises(ShoalError) as raised:
                    client_of(answers).call("GET", "/")
            self.assertEqual((raised.exception.code, raised.exception.status), ("internal", 200))

    def test_retry_after_may_be_a_date_and_nothing_else_is_believed(self):
        noon = 1795176000.0
        for text, seconds in (
            ("7", 7),
            ("Fri, 20 Nov 2026 12:00:30 GMT", 30),
            ("Fri, 20 Nov 2026 11:00:00 GMT", 0),
            ("-5", None),
            ("7.5", None),
            ("\u00b2", None),
            ("soon", None),
            ("", None),
            (None, None),
        ):
            self.assertEqual(retry_after_seconds(text, lambda: noon), seconds, text)

    def test_what_cannot_be_used_is_refused_and_the_key_is_not_shown(self):
        for given in (
            ("127.0.0.1:7070", "k"),
            ("http://user:pass@h", "k"),
            ("http://h", "secret\n"),
            ("http://h", ""),
            ("http://h", "k", "a b"),
        ):
            with self.assertRaises(ValueError) as raised:
                Client(*given)
            self.assertNotRegex(str(raised.exception), "secret|pass")
        client = Client("http://127.0.0.1:9", "k", sleep=self.fail)
        for path in ("v1/x", "@elsewhere.example/", "/v1/a b", "/v1/x\r\nx-y: z"):
            with self.assertRaises(ValueError):
                client.call("GET", path)
        with self.assertRaises(ValueError):
            GateCheck(client).check("..")


class Chat(unittest.TestCase):
    def test_a_completion_that_may_have_been_made_is_not_asked_for_twice(self):
        with Answers(None) as answers:
            with self.assertRaises(ShoalError):
                client_of(answers).chat("m", MESSAGES)
            self.assertEqual(len(answers.seen), 1)

    def test_a_stream_is_whole_with_its_end(self):
        body = chunk("one ") + b": keep-alive\n\n" + chunk("tw\u00f6") + b"data: [DONE]\n\n"
        with Answers((200, {"content-type": "text/event-stream"}, body)) as answers:
            chunks = list(client_of(answers).stream_chat("m", MESSAGES))
        text = "".join(each["choices"][0]["delta"]["content"] for each in chunks)
        self.assertEqual(text, "one tw\u00f6")

    def test_a_stream_that_fails_or_ends_too_early_raises(self):
        failed = b"data: " + json.dumps(refusal("cell_unavailable", "gone")).encode() + b"\n\n"
        for body in (chunk("a") + failed, chunk("a")):
            with Answers((200, {}, body)) as answers:
                with self.assertRaises(ShoalError) as raised:
                    list(client_of(answers).stream_chat("m", MESSAGES))
                self.assertEqual(raised.exception.code, "cell_unavailable")
                self.assertEqual(len(answers.seen), 1)

    def test_a_chunk_that_is_no_json_is_an_error(self):
        with Answers((200, {}, b'data: {"cho\n\n')) as answers:
            with self.assertRaises(ShoalError) as raised:
                list(client_of(answers).stream_chat("m", MESSAGES))
            self.assertEqual(raised.exception.code, "internal")

    def test_a_stream_that_is_refused_is_asked_for_again(self):
        whole = (200, {}, chunk("a") + b"data: [DONE]\n\n")
        with Answers((503, {}, refusal("cell_unavailable")), whole) as answers:
            self.assertEqual(len(list(client_of(answers).stream_chat("m", MESSAGES))), 1)


class Gates(unittest.TestCase):
    def test_a_gate_that_is_not_approved_makes_the_caller_fail(self):
        def status(word):
            return (200, {}, {"gate_id": "g", "status": word, "reason": None})

        with Answers(status("pending"), status("blocked"), status("approved")) as answers:
            gates = GateCheck(client_of(answers))
            for word in ("pending", "blocked"):
                with self.assertRaises(GateNotApproved) as raised:
                    gates.require("gate.x")
                self.assertEqual(raised.exception.gate_status, word)
            self.assertTrue(gates.require("gate.x").approved)


if __name__ == "__main__":
    unittest.main()
