import type { Test } from 'tap'
import type { TestStack } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Sum over the series of a metric whose name and labels match. */
const sumOf = (text: string, series: string): number =>
  [...text.matchAll(new RegExp(`^${series} (\\d+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  )

const OWN = [
  'shoal_inference_requests_total\\{model="model-a:7b",outcome="ok"\\}',
  'shoal_inference_tokens_total\\{model="model-a:7b",kind="completion"\\}',
]
const OF_CELL = [
  'shoal_engine_time_to_first_token_seconds_count\\{.*kind="chat"\\}',
  'shoal_engine_requests_total\\{.*kind="chat",end="length"\\}',
]

export const testMetrics = async (t: Test, { url, keys }: TestStack): Promise<void> => {
  const operator = { authorization: `Bearer ${keys.operator}` }
  const text = async (path: string) => {
    const response = await fetch(`${url}${path}`, { headers: operator })
    if (!response.ok) throw new Error(`${path} answers ${response.status}`)
    return response.text()
  }
  const json = async (path: string) => JSON.parse(await text(path))
  const [{ id }] = (await json('/v1/cells')).cells
  const counts = async () => {
    const [own, cell] = [await text('/metrics'), await text(`/v1/cells/${id}/metrics`)]
    const { usage } = await json('/v1/usage?group_by=model')
    const row = usage.find(({ model }: { model: string }) => model === 'model-a:7b')
    return [
      ...OWN.map(series => sumOf(own, series)),
      ...OF_CELL.map(series => sumOf(cell, series)),
      ...[row?.requests ?? 0, row?.completion_tokens ?? 0],
    ]
  }
  const before = await counts()
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

  const after = await counts()
  t.strictSame(
    after.map((count, i) => count - before[i]),
    [1, 5, 1, 1, 1, 5],
  )

  // a machine under load may take the cell for silent for a moment
  const own = await waitUntil('the cell is counted as ready', async () => {
    const scraped = await text('/metrics')
    return scraped.includes('shoal_cells{presence="ready"} 1\n') && scraped
  })
  t.match(own, /shoal_broker_messages_total\{direction="from_cells",topic="birth"\} [1-9]/)
  t.match(own, /shoal_store_write_duration_seconds_count\{database="records",lane="sealed"\} [1-9]/)
  t.match(own, /nodejs_eventloop_lag_p99_seconds \d/)
  t.match(own, /process_resident_memory_bytes \d/)

  const cell = await text(`/v1/cells/${id}/metrics`)
  t.match(cell, /shoal_engine_ready\{weights="[^"]+",kind="chat"\} 1\n/)
  t.match(cell, /shoal_engine_step_width_total\{weights="[^"]+",kind="chat"\} [1-9]/)
}
