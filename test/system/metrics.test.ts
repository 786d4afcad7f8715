import t from 'tap'
import { startStack } from '../support/stack.ts'

t.test('what was served is to be seen in metrics and usage', async t => {
  const { url, keys, stop } = await startStack()
  t.teardown(stop)
  const operator = { authorization: `Bearer ${keys.operator}` }
  const text = async (path: string) => {
    const response = await fetch(`${url}${path}`, { headers: operator })
    t.equal(response.status, 200, path)
    return response.text()
  }
  const json = async (path: string) => JSON.parse(await text(path))
  const chat = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...operator, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'model-a:7b',
      stream: true,
      max_tokens: 5,
      messages: [{ role: 'user', content: 'What is a cell?' }],
    }),
  })
  t.match(await chat.text(), /\[DONE\]/)

  // a machine under load may take the cell for silent for a moment
  let own = await text('/metrics')
  while (!own.includes('shoal_cells{presence="ready"} 1\n')) own = await text('/metrics')
  t.match(own, /shoal_inference_requests_total\{model="model-a:7b",outcome="ok"\} 1\n/)
  t.match(own, /shoal_inference_tokens_total\{model="model-a:7b",kind="completion"\} 5\n/)
  t.match(own, /shoal_broker_messages_total\{direction="from_cells",topic="birth"\} [1-9]/)
  t.match(own, /shoal_store_write_duration_seconds_count\{database="records"\} [1-9]/)
  t.match(own, /nodejs_eventloop_lag_p99_seconds \d/)
  t.match(own, /process_resident_memory_bytes \d/)

  const { cells } = await json('/v1/cells')
  const cell = await text(`/v1/cells/${cells[0].id ?? cells[0].cell_id}/metrics`)
  t.match(cell, /shoal_engine_ready\{weights="[^"]+",kind="chat"\} 1\n/)
  t.match(cell, /shoal_engine_time_to_first_token_seconds_count\{weights="[^"]+",kind="chat"\} 1\n/)
  t.match(cell, /shoal_engine_requests_total\{weights="[^"]+",kind="chat",end="length"\} 1\n/)
  t.match(cell, /shoal_engine_step_width_total\{weights="[^"]+",kind="chat"\} [1-9]/)

  const { usage } = await json('/v1/usage?group_by=model')
  t.match(usage, [{ model: 'model-a:7b', requests: 1, completion_tokens: 5 }])
})
