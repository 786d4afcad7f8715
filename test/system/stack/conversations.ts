import type { Test } from 'tap'
import type { TestStack } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Message {
  id: string
  from: string
  content: string
  state: string
  reason: string | null
}
interface Told {
  event: string
  data: Message & { delta: string; replies: Message[] }
}

const MODEL = 'model-a:7b'

/** One of the tests kills the coordinator and starts it again. */
export const testConversations = async (t: Test, stack: TestStack): Promise<void> => {
  const { url, keys, coordinator, cells, waitForHealth } = stack
  const call = async (method: string, path: string, body?: object, more: RequestInit = {}) => {
    const headers = {
      authorization: `Bearer ${keys.pro}`,
      'content-type': 'application/json',
      ...more.headers,
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    return fetch(url + path, { ...more, method, headers, ...sent })
  }
  const begin = async (more: object = {}): Promise<string> => {
    const participants = [
      { id: MODEL, type: 'model' },
      { id: 'model-b:3b', type: 'model', name: 'Bo' },
    ]
    const made = await call('POST', '/a2a/conversations', { participants, ...more })
    return ((await made.json()) as { id: string }).id
  }
  const show = async (id: string) =>
    (await (await call('GET', `/a2a/conversations/${id}`)).json()) as {
      messages: Message[]
      tokens: number
    }
  const used = async () => {
    const { usage } = (await (await call('GET', '/v1/usage')).json()) as {
      usage: { requests_ok: number; requests_cancelled: number; total_tokens: number }[]
    }
    const sum = (pick: (line: (typeof usage)[number]) => number) =>
      usage.reduce((total, line) => total + pick(line), 0)
    return {
      ok: sum(line => line.requests_ok),
      cancelled: sum(line => line.requests_cancelled),
      tokens: sum(line => line.total_tokens),
    }
  }
  /** Reads a stream; `onEvent` ends it by answering false. */
  const stream = async (id: string, content: string, onEvent: (told: Told) => boolean) => {
    const leaving = new AbortController()
    const response = await call(
      'POST',
      `/a2a/conversations/${id}/message`,
      { content },
      { headers: { accept: 'text/event-stream' }, signal: leaving.signal },
    )
    try {
      for await (const told of events(response)) if (!onEvent(told)) leaving.abort()
    } catch (error) {
      if (!leaving.signal.aborted) throw error
    }
  }

  t.test('a model answers under the key and usage of the requester', async t => {
    const before = await used()
    const id = await begin()
    const path = `/a2a/conversations/${id}/message`
    const response = await call('POST', path, { content: `@${MODEL} What is a cell?` })
    t.equal(response.status, 201)
    const { message, replies } = (await response.json()) as {
      message: Message
      replies: Message[]
    }
    t.match(message, { state: 'done', reason: null })
    t.match(replies, [{ from: MODEL, state: 'done', content: /\w/ }])
    const { tokens } = await show(id)
    const after = await used()
    t.equal(after.ok - before.ok, 1)
    t.ok(tokens > 0)
    t.equal(after.tokens - before.tokens, tokens)
  })

  t.test('a stream has the answer in pieces, and the message as stored', async t => {
    const id = await begin({ auto_route: true })
    let deltas = ''
    const told: Told[] = []
    await stream(id, 'What is a cell?', each => {
      if (each.event === 'delta') deltas += each.data.delta
      else told.push(each)
      return true
    })
    t.match(
      told.map(({ event }) => event),
      ['message', 'message'],
    )
    t.equal(told.at(-1)?.event, 'result')
    t.equal(deltas, told[1]?.data.content)
    t.strictSame(told.at(-1)?.data.replies[0]?.content, deltas)
  })

  t.test('a client that disconnects midway ends the work of the cell', async t => {
    const before = await used()
    const id = await begin()
    await stream(id, `@${MODEL} What is a cell?`, ({ event }) => event !== 'delta')
    const state = await waitUntil('the message is no longer being answered', async () => {
      const { state } = (await show(id)).messages[0] ?? {}
      return state !== 'answering' && state
    })
    // an answer may have ended on its last piece
    t.match(state, /^(cancelled|done)$/)
    const { ok, cancelled } = await used()
    t.equal(ok + cancelled - before.ok - before.cancelled, 1)
    if (state === 'cancelled') t.equal((await show(id)).messages.length, 1)
  })

  t.test('a message unanswered by a killed coordinator reports it afterwards', async t => {
    const id = await begin()
    const [cell] = cells
    // a cell that stands still does not answer before the kill
    process.kill(cell?.pid ?? 0, 'SIGSTOP')
    const cut = stream(id, `@${MODEL} What is a cell?`, ({ data }) => {
      if (data.state === 'answering') process.kill(coordinator.pid, 'SIGKILL')
      return true
    })
    await t.rejects(cut)
    process.kill(cell?.pid ?? 0, 'SIGCONT')
    await coordinator.end('SIGKILL')
    coordinator.start()
    await waitForHealth(({ status }) => status === 'ok')
    // the killed process counts as alive until its lease expires
    const isGivenUp = async () => (await show(id)).messages[0]?.state !== 'answering'
    await waitUntil('the message is given up', isGivenUp, 500)
    t.match((await show(id)).messages, [
      { state: 'failed', reason: 'the coordinator stopped before it was answered' },
    ])
    const again = await call('POST', `/a2a/conversations/${id}/message`, {
      content: `@${MODEL} And now?`,
    })
    t.equal(again.status, 201)
  })

  t.test('the card announces conversations and their address', async t => {
    const card = (await (await fetch(`${url}/.well-known/agent.json`)).json()) as {
      swarm: object
      skills: { id: string; examples?: string[]; endpoints?: object }[]
    }
    t.match(card.swarm, { conversational_flows: true })
    const [skill, ...others] = card.skills.filter(({ endpoints }) => endpoints !== undefined)
    t.strictSame(others, [])
    t.match(skill, { id: 'multi-agent-conversation', examples: [String] })
    t.strictSame(skill?.endpoints, {
      create: '/a2a/conversations',
      list: '/a2a/conversations',
      get: '/a2a/conversations/{id}',
      message: '/a2a/conversations/{id}/message',
    })
  })
}

/** The events of a stream, without comments. */
async function* events({ body }: Response): AsyncGenerator<Told> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(piece, { stream: true })
    const whole = rest.split('\n\n')
    rest = whole.pop() ?? ''
    for (const text of whole) {
      const [, event, data = '{}'] = /^event: (\w+)\ndata: (.*)$/s.exec(text) ?? []
      if (event !== undefined) yield { event, data: JSON.parse(data) }
    }
  }
}
