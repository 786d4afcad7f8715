import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Views } from '../../../coordinator/assembly/coordinator.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { appWith, views } from '../../support/app.ts'
import { hasPython, runInTerminal, SHOAL, shoal } from '../../support/shoal-program.ts'

interface Message {
  role: string
  content: string
  tool_calls?: object[]
}

interface Question {
  messages: Message[]
  tools?: { function: { name: string } }[]
}

const seen = views({
  monitor: { alerts: () => [], isDegraded: () => false, latest: () => undefined },
} as unknown as Partial<Views>)

/** The MCP endpoint of a real coordinator, beside a model that does what `decide` says. */
const scene = async (t: Test, decide: (last: Message) => object) => {
  const app = await appWith({ views: seen })
  const asked: Question[] = []
  const server = createServer(async (request, response) => {
    const body = await json(request)
    if (request.url?.startsWith('/mcp/')) {
      const { authorization = '', accept = '' } = request.headers
      const headers = {
        authorization,
        accept,
        host: '127.0.0.1',
        'content-type': 'application/json',
      }
      const answer = await app.inject({
        method: 'POST',
        url: request.url,
        headers,
        body: body as object,
      })
      response.writeHead(answer.statusCode, {
        'content-type': `${answer.headers['content-type']}`,
        'x-shoal-version': '1',
      })
      return void response.end(answer.body)
    }
    const question = body as Question
    asked.push(question)
    const delta = decide(question.messages.at(-1) as Message)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`)
    response.end('data: [DONE]\n\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    await app.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'admin-key' }
  return { asked, env }
}

const callOf = (name: string, input: object) => ({
  tool_calls: [{ index: 0, id: 'c1', function: { name, arguments: JSON.stringify(input) } }],
})

t.test('a model finds a tool, calls it with the key of the person, and answers', async t => {
  const { asked, env } = await scene(t, ({ role, content }) => {
    if (role === 'user') return callOf('find-tools', { query: 'open alerts' })
    if (content.includes('input_schema')) return callOf('call-tool', { name: 'alerts-list' })
    return { content: content.includes('"data_state":"empty"') ? 'no alert is open' : content }
  })
  const done = await shoal(env, ['chat', '--tools', 'is', 'all', 'well?'])
  t.match(done, {
    code: 0,
    out: 'no alert is open\n',
    err: /calls find-tools .*calls alerts-list/s,
  })
  t.strictSame(
    asked[0]?.tools?.map(({ function: { name } }) => name),
    ['find-tools', 'call-tool'],
  )
  t.match(asked.at(-1)?.messages, [{ role: 'user' }, { tool_calls: [{}] }, { role: 'tool' }])
  t.equal((await shoal({ ...env, SHOAL_KEY: 'wrong' }, ['chat', '--tools', 'hi'])).code, 77)
})

t.test('the model reads the error of a failed call', async t => {
  const { env } = await scene(t, ({ role, content }) =>
    role === 'user' ? callOf('find-tools', { query: '' }) : { content },
  )
  t.match(await shoal(env, ['chat', '--tools', 'hi']), { code: 0, out: /invalid_request.*query/ })
})

t.test('a model cannot pass off a change as a call that only reads', async t => {
  const { asked, env } = await scene(t, ({ role, content }) => {
    if (role === 'user') return callOf('find-tools', { query: 'open alerts' })
    if (content.includes('input_schema'))
      return callOf('conversations-create', { name: 'alerts-list', title: 'by a model' })
    return { content }
  })
  const done = await shoal(env, ['chat', '--tools', 'hi'])
  t.match(done.out, 'not called: there are only find-tools and call-tool')
  t.match(asked.at(-1)?.messages.at(-1)?.content, /^not called/)
})

t.test('a call that may change something needs a person', { skip: !hasPython }, async t => {
  const change = { name: 'conversations-create', arguments: { title: 'by a model' } }
  const { env } = await scene(t, ({ role, content }) =>
    role === 'user' ? callOf('call-tool', change) : { content },
  )
  const declined = 'not called: the person declined this call'
  t.match(await shoal(env, ['chat', '--tools', 'hi']), {
    out: `${declined}\n`,
    err: /not called: conversations-create .*--allow-changes/,
  })
  t.notMatch((await shoal(env, ['chat', '--tools', '--allow-changes', 'hi'])).out, declined)
  const { code, out } = await runInTerminal([process.execPath, SHOAL, 'chat', '--tools'], {
    columns: 120,
    env,
    steps: [
      { wait: '> ', type: 'hello\r' },
      { wait: 'call conversations-create {"title":"by a model"}? y/N ', type: 'n\r' },
      { wait: declined, type: 'again\r' },
      { wait: 'y/N ', type: 'y\r' },
      { wait: 'participants is missing', type: '/exit\r' },
    ],
  })
  t.equal(code, 0, out)
})
