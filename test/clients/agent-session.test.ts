import t, { type Test } from 'tap'
import { closeSession, startSession } from '../../clients/cli/agent-session.ts'
import type { Api, ApiCall } from '../../clients/cli/api.ts'
import type { CliSession } from '../../clients/cli/session.ts'
import { type ErrorBody, type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { governanceScene } from '../support/governance.ts'

/** Command lines of people over a real server, and what they print. */
const scene = async (t: Pick<Test, 'teardown'>) => {
  const { call, demo, agents } = await governanceScene(t)
  const printed: Record<string, unknown>[] = []
  const sessionOf = (key: string): CliSession => {
    const api = {
      call: async ({ method, path, query = {}, body }: ApiCall) => {
        const text = new URLSearchParams(query as Record<string, string>).toString()
        const url = text === '' ? path : `${path}?${text}`
        const { status, json } = await call(key, method as 'GET', url, body)
        if (status < 400) return json
        const { error } = json as ErrorBody
        throw new ShoalError(error.code as ErrorCode, error.message)
      },
    } as unknown as Api
    const print: CliSession['print'] = value => void printed.push(value as Record<string, unknown>)
    return { api, print } as CliSession
  }
  return { operator: sessionOf(demo.operator), other: sessionOf(demo.approver_a), printed, agents }
}

t.test('an agent session starts and ends with one command each', async t => {
  const { operator, printed } = await scene(t)
  await startSession(operator, { scope: 'repo:api', task: 'T-1', agent: 'ada' })
  t.match(printed[0], {
    agent_id: 'ada',
    agent_type: 'human',
    step: 'claim',
    claims: [{ scope: 'repo:api', task_id: 'T-1' }],
  })
  await closeSession(operator, { evidence: 'all tests pass', agent: 'ada' })
  t.match(printed[1], { step: 'undock', outcome: 'done' })
  await t.rejects(closeSession(operator, { evidence: 'again', agent: 'ada' }), {
    code: 'not_found',
    message: /shoal session start/,
  })
})

t.test('a scope that is already claimed leaves no session behind', async t => {
  const { operator, other, agents } = await scene(t)
  await startSession(operator, { scope: 'repo:api', agent: 'ada' })
  await t.rejects(startSession(other, { scope: 'repo:api', agent: 'bea' }), {
    code: 'conflict',
    message: /held by ada/,
  })
  t.equal(await agents.sessions.countLive('demo'), 1)
})

t.test('one of several live sessions is chosen by name', async t => {
  const { operator, printed } = await scene(t)
  for (const scope of ['a', 'b']) {
    const body = { agent_id: 'ada', variant: 'v2_parallel' }
    const call = (path: string, body: object) =>
      operator.api.call({ method: 'POST', path, body }) as Promise<{ session_id: string }>
    const { session_id } = await call('/v1/sessions', body)
    await call(`/v1/sessions/${session_id}/brief`, {})
    printed.push(await call(`/v1/sessions/${session_id}/claim`, { scope }))
  }
  const [first] = printed as { session_id: string }[]
  await t.rejects(closeSession(operator, { evidence: 'x', agent: 'ada' }), {
    code: 'conflict',
    message: new RegExp(`--session: .*${first?.session_id}`),
  })
  const named = { evidence: 'x', agent: 'ada', session: first?.session_id ?? '' }
  await closeSession(operator, named)
  t.match(printed.at(-1), { session_id: first?.session_id, outcome: 'done' })
})
