"""Stream one answer: SHOAL_URL=http://127.0.0.1:7070 SHOAL_KEY=svc-dev-… python3 chat.py"""

import os

from shoal_client import Client

client = Client(os.environ["SHOAL_URL"], os.environ["SHOAL_KEY"])
messages = [{"role": "user", "content": "What is a cell?"}]
for chunk in client.stream_chat("model-a:7b", messages, temperature=0):
    for choice in chunk["choices"]:
        print(choice["delta"].get("content") or "", end="", flush=True)
print()
