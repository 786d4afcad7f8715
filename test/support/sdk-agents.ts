import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import {
  DefaultRequestHandler as OlderRequestHandler,
  InMemoryTaskStore as OlderTaskStore,
  JsonRpcTransportHandler as OlderTransportHandler,
} from 'a2a-sdk-0-3/server'
import type { Test } from 'tap'

/** An agent of somebody else on loopback, made with the public SDK. */
interface SdkAgent {
  /** `127.0.0.1:1234` */
  place: string
  /** Address of its card. */
  card: string
  /** The texts it was sent. */
  heard: string[]
  /** Methods it was called by, in their order. */
  methods: string[]
  /** Tasks it was told to cancel. */
  cancelled: string[]
}

interface SdkAgentOptions {
  /**
   * Promise that ends the task: the agent makes a task of a message and answers with that at once.
   */
  until?: Promise<void>
  /** Headers without which it answers 401. */
  wants?: Record<string, string>
}

interface Rpc {
  method: string
  params: { configuration?: object }
}
interface Transport {
  handle(body: Rpc, headers: Record<string, unknown>): Promise<unknown>
}
type Notes = Pick<SdkAgent, 'heard' | 'methods' | 'cancelled'>

const listen = async (
  t: Pick<Test, 'teardown'>,
  { until, wants = {} }: SdkAgentOptions,
  make: (base: string, notes: Notes) => { card: object; transport: Transport },
): Promise<SdkAgent> => {
  const notes: Notes = { heard: [], methods: [], cancelled: [] }
  let made: ReturnType<typeof make> | undefined
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    response.setHeader('content-type', 'application/json')
    if (Object.entries(wants).some(([name, value]) => request.headers[name] !== value))
      return void response.writeHead(401).end('{}')
    if (request.method === 'GET') return void response.end(JSON.stringify(made?.card))
    const asked = JSON.parse(body) as Rpc
    notes.methods.push(asked.method)
    if (until !== undefined && asked.params.configuration !== undefined)
      asked.params.configuration = { blocking: false, returnImmediately: true }
    response.end(JSON.stringify(await made?.transport.handle(asked, request.headers)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => server.close())
  const place = `127.0.0.1:${port}`
  made = make(`http://${place}`, notes)
  return { place, card: `http://${place}/.well-known/agent-card.json`, ...notes }
}

const facts = (base: string) => ({
  name: 'far',
  description: 'far away',
  version: '1.0.0',
  url: `${base}/rpc`,
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
})

/** One that speaks A2A 1.0, by SDK 1.3. */
export const newerAgent = (
  t: Pick<Test, 'teardown'>,
  reply: string,
  options: SdkAgentOptions = {},
): Promise<SdkAgent> =>
  listen(t, options, (base, { heard, cancelled }) => {
    const parts = [{ content: { $case: 'text', value: reply }, mediaType: 'text/plain' }]
    const status = (taskId: string, contextId: string, state: TaskState) =>
      AgentEvent.statusUpdate({ taskId, contextId, status: { state } } as never) as never
    const executor = {
      execute: async ({ taskId, contextId, userMessage }: Asked, bus: Bus) => {
        heard.push(userMessage.parts[0]?.content?.value ?? '')
        if (options.until === undefined)
          bus.publish(AgentEvent.message({ messageId: 'm', role: 2, parts } as never) as never)
        else {
          const task = { id: taskId, contextId, status: { state: TaskState.TASK_STATE_WORKING } }
          bus.publish(AgentEvent.task({ ...task, artifacts: [], history: [] } as never) as never)
          await options.until
          if (cancelled.includes(taskId)) return
          const artifact = { artifactId: 'a', parts }
          bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact } as never) as never)
          bus.publish(status(taskId, contextId, TaskState.TASK_STATE_COMPLETED))
        }
        bus.finished()
      },
      cancelTask: async (taskId: string, bus: Bus) => {
        cancelled.push(taskId)
        bus.publish(status(taskId, '', TaskState.TASK_STATE_CANCELED))
        bus.finished()
      },
    }
    const url = `${base}/rpc`
    const supportedInterfaces = [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    ]
    const card = { ...facts(base), supportedInterfaces }
    const handler = new DefaultRequestHandler(
      card as never,
      new InMemoryTaskStore(),
      executor as never,
    )
    const transport = new JsonRpcTransportHandler(handler)
    const handle: Transport['handle'] = async (body, headers) =>
      transport.handle(
        body as never,
        new ServerCallContext({ requestedVersion: String(headers['a2a-version']) } as never),
      )
    return { card, transport: { handle } }
  })

/** One that speaks A2A 0.3, by SDK 0.3. */
export const olderAgent = (
  t: Pick<Test, 'teardown'>,
  reply: string,
  options: SdkAgentOptions = {},
): Promise<SdkAgent> =>
  listen(t, options, (base, { heard, cancelled }) => {
    const parts = [{ kind: 'text', text: reply }]
    const status = (taskId: string, contextId: string, state: string) =>
      ({ kind: 'status-update', taskId, contextId, status: { state }, final: true }) as never
    const executor = {
      execute: async ({ taskId, contextId, userMessage }: OlderAsked, bus: Bus) => {
        heard.push(userMessage.parts[0]?.text ?? '')
        if (options.until === undefined)
          bus.publish({ kind: 'message', messageId: 'm', role: 'agent', parts } as never)
        else {
          bus.publish({
            kind: 'task',
            id: taskId,
            contextId,
            status: { state: 'working' },
          } as never)
          await options.until
          if (cancelled.includes(taskId)) return
          const artifact = { artifactId: 'a', parts }
          bus.publish({ kind: 'artifact-update', taskId, contextId, artifact } as never)
          bus.publish(status(taskId, contextId, 'completed'))
        }
        bus.finished()
      },
      cancelTask: async (taskId: string, bus: Bus) => {
        cancelled.push(taskId)
        bus.publish(status(taskId, '', 'canceled'))
        bus.finished()
      },
    }
    const card = { ...facts(base), protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' }
    const handler = new OlderRequestHandler(card, new OlderTaskStore(), executor as never)
    const transport = new OlderTransportHandler(handler)
    return { card, transport: { handle: body => transport.handle(body) } }
  })

interface Bus {
  publish(event: never): void
  finished(): void
}
interface Asked {
  taskId: string
  contextId: string
  userMessage: { parts: { content?: { value: string } }[] }
}
interface OlderAsked extends Omit<Asked, 'userMessage'> {
  userMessage: { parts: { text: string }[] }
}
