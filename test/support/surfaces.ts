import type { AddressInfo } from 'node:net'
import { errorCodes, rpcCode } from '../../shared/errors.ts'
import { type AnyJson, askUntil, caller, message } from './a2a.ts'
import type { governanceScene } from './governance.ts'

interface SurfaceCallOptions {
  key: string
  /** Names the call for a repetition. */
  callKey?: string
  signal?: AbortSignal
}

/** One way to call a skill. The answer is the outcome in the same words for all of them. */
export interface Surface {
  name: string
  call(skill: string, input: object, told: SurfaceCallOptions): Promise<string>
  /** The same call once more after an approval; a task goes on by itself. */
  again?(skill: string, input: object, told: SurfaceCallOptions): Promise<string>
  /** Cancels the call under way, where leaving does not. */
  cancelCall?(key: string): Promise<unknown>
}

const outcomeOf = ({ said, task_id, status }: AnyJson): string => {
  if (said !== undefined) return `done ${said}`
  if (task_id !== undefined) return 'task'
  return status === 'pending' ? 'pending' : 'unknown'
}

const codeOf = (rpc: number): string => errorCodes.find(code => rpcCode(code) === rpc) ?? 'internal'

/** The five surfaces of a server that listens. */
export const surfacesOf = (
  { app, call: asked }: Pick<Awaited<ReturnType<typeof governanceScene>>, 'app' | 'call'>,
  operator: string,
): Surface[] => {
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`

  const post = async (path: string, body: object, { key, signal, callKey }: SurfaceCallOptions) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        // MCP takes nothing less; elsewhere it asks for events
        ...(path === '/mcp/' && { accept: 'application/json, text/event-stream' }),
        ...(callKey !== undefined && { 'idempotency-key': callKey }),
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
    const text = await response.text()
    const data = text.split('\n').find(line => line.startsWith('data: '))
    const json: AnyJson = JSON.parse(data?.slice(6) ?? text)
    return { status: response.status, json }
  }
  const showUnlessRefused = (
    { status, json }: { status: number; json: AnyJson },
    show: () => string,
  ) => (status < 300 ? show() : `refused ${json.error.code}`)

  const rest: Surface = {
    name: 'REST',
    call: async (skill, input, told) => {
      const answer = await post(`/v1/skills/${skill}`, input, told)
      return showUnlessRefused(answer, () => outcomeOf(answer.json))
    },
  }

  const mcp: Surface = {
    name: 'MCP',
    call: async (name, input, { callKey, ...told }) => {
      const meta = callKey === undefined ? {} : { 'io.shoal/idempotencyKey': callKey }
      const params = { name, arguments: input, _meta: meta }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const { result } = (await post('/mcp/', body, told)).json
      if (result.isError !== true) return outcomeOf(result.structuredContent)
      return `refused ${JSON.parse(result.content[0].text).error.code}`
    },
  }

  let lastTask = ''
  const taskOutcome = ({ status, artifacts = [] }: AnyJson): string => {
    if (status.state === 'TASK_STATE_COMPLETED') return outcomeOf(artifacts.at(-1).parts[0].data)
    if (status.state === 'TASK_STATE_AUTH_REQUIRED') return 'pending'
    if (status.state === 'TASK_STATE_CANCELED') return 'cancelled'
    return `refused ${status.message?.parts.at(-1).data.error.code}`
  }
  const a2a: Surface = {
    name: 'A2A',
    call: async (skill, input, { callKey, ...told }) => {
      const sent = message({ data: { skill, input } }, callKey ? { messageId: callKey } : {})
      const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: sent } }
      const { json } = await post('/a2a', body, told)
      if (json.error !== undefined)
        return `refused ${json.error.code?.toString().startsWith('-') ? codeOf(json.error.code) : json.error.code}`
      lastTask = json.result.task.id
      return taskOutcome(json.result.task)
    },
    cancelCall: async key => {
      const { result } = await caller(url, key).rpc('ListTasks', { pageSize: 1 })
      return caller(url, key).rpc('CancelTask', { id: result.tasks[0].id })
    },
    again: async (_skill, _input, { key }) => {
      const show = () => caller(url, key).rpc('GetTask', { id: lastTask })
      const isOver = ({ result }: AnyJson) => result.status.state !== 'TASK_STATE_AUTH_REQUIRED'
      const { result } = await askUntil(
        show,
        answer => isOver(answer) && !/WORKING/.test(answer.result.status.state),
      )
      return taskOutcome(result)
    },
  }

  const conversations = new Map<string, string>()
  const conversationWith = async (id: string): Promise<string> => {
    const body = { participants: [{ id, type: 'skill' }] }
    const known = conversations.get(id)
    const made = known ?? (await asked(operator, 'POST', '/a2a/conversations', body)).json.id
    conversations.set(id, made)
    return made
  }
  const conversation: Surface = {
    name: 'conversation',
    call: async (skill, input, told) => {
      const content = `@${skill} ${JSON.stringify(input)}`
      const path = `/a2a/conversations/${await conversationWith(skill)}/message`
      const { status, json } = await post(path, { content }, told)
      return showUnlessRefused({ status, json }, () => {
        const { content } = json.replies.at(-1)
        if (content.startsWith('Not done: ')) return 'pending'
        const code = /did not answer: (\w+):/.exec(content)?.[1]
        return code === undefined ? outcomeOf(JSON.parse(content)) : `refused ${code}`
      })
    },
  }

  const sessions = new Map<string, string>()
  const sessionOf = async (key: string): Promise<string> => {
    const known = sessions.get(key)
    if (known !== undefined) return known
    const input = { agent_id: `fixer-${sessions.size}`, role: 'administration' }
    const { session_id } = (await asked(key, 'POST', '/v1/sessions', input)).json
    sessions.set(key, session_id)
    const step = (name: string, body: object) =>
      asked(key, 'POST', `/v1/sessions/${session_id}/${name}`, body)
    await step('brief', {})
    await step('claim', { scope: `repo:${session_id}` })
    await step('check', { action_type: 'read.fleet' })
    return session_id
  }
  const session: Surface = {
    name: 'session',
    call: async (skill, input, told) => {
      const path = `/v1/sessions/${await sessionOf(told.key)}/execute`
      const answer = await post(path, { skill, input }, told)
      return showUnlessRefused(answer, () => outcomeOf(answer.json.output ?? answer.json))
    },
  }

  return [rest, mcp, a2a, conversation, session]
}
