import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  AgentCredential,
  openAgentCredentials,
} from '../../../../coordinator/agents/conversations/agent-credentials.ts'
import { ConversationsConfig } from '../../../../coordinator/agents/conversations/conversations-config.ts'
import { RemoteAgents } from '../../../../coordinator/agents/conversations/remote-agent.ts'
import { Outbound } from '../../../../coordinator/kernel/outbound/outbound-config.ts'
import { createSender } from '../../../../coordinator/kernel/outbound/sender.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newerAgent, olderAgent } from '../../../support/sdk-agents.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

const signal = new AbortController().signal

const agentsAt = async (
  places: string[],
  agent_credentials: object[],
  env = { TOKEN: 's3cret' },
) => {
  const config = ConversationsConfig.parse({ agents: places, agent_credentials })
  return new RemoteAgents({
    runtime: systemRuntime,
    sender: createSender({
      runtime: systemRuntime,
      config: Outbound.parse({ allow: places, allow_http: true }),
    }),
    config,
    credentials: await openAgentCredentials(config.agent_credentials, env),
  })
}

/** Answers everything, and keeps what it was sent. */
const listener = async (t: Test, rpcUrl: (own: string) => string) => {
  const headers: IncomingHttpHeaders[] = []
  const server = createServer(async (request, response) => {
    await request.toArray()
    headers.push(request.headers)
    const supportedInterfaces = [{ url: rpcUrl(`http://${place}`), protocolVersion: '1.0' }]
    const message = { messageId: 'm', parts: [{ text: 'yes' }] }
    response.end(JSON.stringify({ supportedInterfaces, result: { message } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = `http://${place}/.well-known/agent-card.json`
  const secrets = () => headers.map(({ authorization }) => authorization)
  return { place, card, secrets }
}

for (const [version, open] of [
  ['1.0', newerAgent],
  ['0.3', olderAgent],
] as const)
  t.test(`an agent of ${version} that requires a credential gets the configured one`, async t => {
    for (const [wants, header] of [
      [{ authorization: 'Bearer s3cret' }, {}],
      [{ 'x-api-key': 's3cret' }, { header: 'X-API-Key' }],
    ] as const) {
      const { place, card } = await open(t, 'hello', { wants })
      const known = await agentsAt([place], [{ agent: place, token_env: 'TOKEN', ...header }])
      t.equal(await known.ask(card, 'x', signal), 'hello')
      const unknown = await agentsAt([place], [])
      await t.rejects(unknown.ask(card, 'x', signal), {
        code: 'cell_unavailable',
        message: /status 401.*agent_credentials/,
      })
    }
  })

t.test('a credential is sent only to the agent that it is for', async t => {
  const other = await listener(t, own => `${own}/rpc`)
  const own = await listener(t, place => `${place}/rpc`)
  const luring = await listener(t, () => `http://${own.place}/rpc`)
  const leading = await listener(t, () => `http://${other.place}/rpc`)
  const agents = await agentsAt(
    [own, other, luring, leading].map(({ place }) => place),
    [own, leading].map(({ place }) => ({ agent: place, token_env: 'TOKEN' })),
  )
  await agents.ask(own.card, 'x', signal)
  t.strictSame(own.secrets(), ['Bearer s3cret', 'Bearer s3cret'])
  await agents.ask(leading.card, 'x', signal)
  t.strictSame(other.secrets(), [undefined], 'a card leads to another host')
  await agents.ask(luring.card, 'x', signal)
  t.strictSame(luring.secrets(), [undefined])
  t.strictSame(own.secrets().slice(2), [undefined], 'a card of another host leads here')
  await agents.ask(`http://${own.place}/files/of-a-user.json`, 'x', signal)
  await agents.ask(`http://${own.place}/users/eve/.well-known/agent-card.json`, 'x', signal)
  t.strictSame(own.secrets().slice(3), Array(4).fill(undefined), 'places that are none of a card')
})

t.test('only the agent below the path gets the credential of a shared host', async t => {
  const own = await listener(t, place => `${place}/agents/a/rpc`)
  const stray = await listener(t, place => `${place}/agents/ab/rpc`)
  const agents = await agentsAt(
    [own, stray].map(({ place }) => place),
    [own, stray].map(({ place }) => ({ agent: place, path: '/agents/a', token_env: 'TOKEN' })),
  )
  const cardOf = (place: string, path: string) =>
    `http://${place}${path}/.well-known/agent-card.json`
  await agents.ask(cardOf(own.place, '/agents/a'), 'x', signal)
  t.strictSame(own.secrets(), ['Bearer s3cret', 'Bearer s3cret'])
  for (const path of ['', '/agents/b', '/agents/a/../b', '/agents/a/b'])
    await agents.ask(cardOf(own.place, path), 'x', signal)
  t.strictSame(own.secrets().slice(2), Array(8).fill(undefined))
  await agents.ask(cardOf(stray.place, '/agents/a'), 'x', signal)
  t.strictSame(stray.secrets(), ['Bearer s3cret', undefined], 'an address beside the path')
  for (const path of ['agents', '/a/', '/a/../b', '/a?b'])
    t.throws(() =>
      ConversationsConfig.parse({
        agent_credentials: [{ agent: own.place, path, token_env: 'TOKEN' }],
      }),
    )
})

t.test('an agent that echoes its credential does not reveal it to its users', async t => {
  const token = 'a-"long"-s3cret'
  let fails = false
  const server = createServer(async (request, response) => {
    await request.toArray()
    const url = `http://${place}/rpc`
    const said = `you are ${request.headers.authorization}`
    const message = { messageId: 'm', parts: [{ text: said }, { data: { [said]: token } }] }
    const supportedInterfaces = [{ url, protocolVersion: '1.0' }]
    const outcome = fails ? { error: { code: -1, message: said } } : { result: { message } }
    response.end(JSON.stringify({ supportedInterfaces, ...outcome }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = `http://${place}/.well-known/agent-card.json`
  const known = [{ agent: place, token_env: 'TOKEN' }]
  const agents = await agentsAt([place], known, { TOKEN: token })
  t.equal(await agents.ask(card, 'x', signal), 'you are Bearer ***\n{"you are Bearer ***":"***"}')
  fails = true
  const refusal = await agents.ask(card, 'x', signal).catch((error: Error) => error.message)
  t.match(refusal, /you are Bearer \*\*\*$/)
})

t.test('a token file is read again for each message', async t => {
  const { place, card, secrets } = await listener(t, own => `${own}/rpc`)
  const token_file = join(await temporaryFolder(t), 'token')
  await writeFile(token_file, 'first\n')
  const agents = await agentsAt([place], [{ agent: place, token_file }])
  await agents.ask(card, 'x', signal)
  await writeFile(token_file, 'second\n')
  await agents.ask(card, 'x', signal)
  t.strictSame(new Set(secrets()), new Set(['Bearer first', 'Bearer second']))
  await writeFile(token_file, '')
  await t.rejects(agents.ask(card, 'x', signal), { code: 'config_invalid' })
})

t.test('an unreadable token is reported at the start, and no error reveals it', async t => {
  const token_file = join(await temporaryFolder(t), 'token')
  for (const [credential, env] of [
    [{ token_file }, {}],
    [{ token_env: 'TOKEN' }, {}],
    [{ token_env: 'TOKEN' }, { TOKEN: 'two words' }],
    [{ token_env: 'TOKEN' }, { TOKEN: 'a\r\nb: c' }],
  ] as [object, Record<string, string>][]) {
    const configured = AgentCredential.parse({ agent: 'agents.acme-corp.com:443', ...credential })
    const failed = await openAgentCredentials([configured], env).then(
      () => undefined,
      error => error,
    )
    t.match(failed, { code: 'config_invalid', message: /agents.acme-corp.com:443/ })
    t.notMatch(failed.message, /two words|b: c/)
  }
})

t.test('a credential names one agent, one source of its token and one header', async t => {
  const agent = 'agents.acme-corp.com:443'
  for (const wrong of [
    { agent },
    { agent, token_env: 'A', token_file: 'b' },
    { agent: 'agents.acme-corp.com', token_env: 'A' },
    { agent: '10.0.0.0/8:443', token_env: 'A' },
    { agent, token_env: 'A=b' },
    { agent, token_env: 'A', header: 'host' },
    { agent, token_env: 'A', header: 'x-a: b' },
    { agent, token: 's3cret' },
  ])
    t.notOk(AgentCredential.safeParse(wrong).success, JSON.stringify(wrong))
})
