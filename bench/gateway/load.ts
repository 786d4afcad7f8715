import { Agent, request } from 'node:http'

/**
 * A closed loop of clients on kept connections. Arguments: url, key, clients, requests, `stream` or
 * `whole`. Prints one JSON line: requests a second and latencies in microseconds.
 */
const [url = '', key = '', clients = '1', total = '1000', mode = 'whole'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(clients) })
const body = JSON.stringify({
  model: 'model-a:7b',
  messages: [{ role: 'user', content: 'x'.repeat(250) }],
  ...(mode === 'stream' ? { stream: true } : {}),
})

const ask = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const asked = request(
      `${url}/v1/chat/completions`,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      response => {
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
        response.resume()
        response.on('end', () => resolve((performance.now() - startedAt) * 1000))
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })

const times: number[] = []
let left = Number(total)
const client = async (): Promise<void> => {
  while (left-- > 0) times.push(await ask())
}
const startedAt = performance.now()
await Promise.all(Array.from({ length: Number(clients) }, client))
const seconds = (performance.now() - startedAt) / 1000
times.sort((a, b) => a - b)
const percentileAt = (share: number): number =>
  Math.round(times[Math.floor(times.length * share)] ?? 0)
console.log(
  JSON.stringify({
    perSecond: Math.round(times.length / seconds),
    p50: percentileAt(0.5),
    p99: percentileAt(0.99),
  }),
)
agent.destroy()
