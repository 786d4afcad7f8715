import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { openScene, type SceneOptions } from './coordinator.ts'

/** The parts of the product with their A2A bindings on a port. */
export const a2aScene = async (t: Pick<Test, 'teardown'>, options: SceneOptions = {}) => {
  const scene = await openScene(t, options)
  await scene.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = scene.app.server.address() as AddressInfo
  return { ...scene, url: `http://127.0.0.1:${port}` }
}

/** Requests with one key. */
export const caller = (
  url: string,
  key: string | undefined,
  headers: Record<string, string> = {},
) => {
  const own = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    'content-type': 'application/json',
    ...headers,
  }
  const raw = (path: string, body?: unknown, method?: string): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: own,
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const json = async (path: string, body?: unknown, method?: string): Promise<A2aAnswer> => {
    const response = await raw(path, body, method)
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text && JSON.parse(text) }
  }
  let next = 0
  const rpc = async (method: string, params: object, path = '/a2a') =>
    (await json(path, { jsonrpc: '2.0', id: ++next, method, params })).json
  /** Events of a streaming call, in JSON-RPC or without. */
  async function* events(path: string, body?: unknown): AsyncGenerator<AnyJson> {
    const response = await raw(path, body)
    const type = response.headers.get('content-type') ?? ''
    if (!type.startsWith('text/event-stream')) throw new Error(await response.text())
    let rest = ''
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      rest += Buffer.from(piece).toString()
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks)
        for (const line of block.split('\n'))
          if (line.startsWith('data: ')) yield JSON.parse(line.slice(6))
    }
  }
  const stream = (method: string, params: object) =>
    events('/a2a', { jsonrpc: '2.0', id: ++next, method, params })
  return { raw, json, rpc, events, stream }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
export type AnyJson = any

interface A2aAnswer {
  status: number
  headers: Headers
  json: AnyJson
}

let messages = 0

/** A message of A2A 1.0 with one part. */
export const message = (part: object, more: object = {}) => ({
  messageId: `message-${process.pid}-${++messages}`,
  role: 'ROLE_USER',
  parts: [part],
  ...more,
})

/** Asks again until the answer is right: for what happens by itself. */
export const askUntil = async <T>(
  ask: () => Promise<T>,
  isRight: (answer: T) => boolean,
): Promise<T> => {
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    await new Promise(done => setTimeout(done, 20))
  }
}
