import t from 'tap'
import * as z from 'zod'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { type AnyJson, a2aScene, caller } from '../../../support/a2a.ts'

const scene = await a2aScene(t)
const { url } = scene
const STANDARD = '/.well-known/agent-card.json'
const ask = (headers: Record<string, string>, path = STANDARD) =>
  caller(url, undefined, headers).json(path)
const isPure = ({ json }: { json: AnyJson }): boolean => !('url' in json)

t.test('the standard path returns the card in the requested version', async t => {
  t.notOk(isPure(await ask({})))
  t.notOk(isPure(await ask({ 'a2a-version': '0.3' })))
  t.ok(isPure(await ask({ 'a2a-version': '1.0' })))
  t.notOk(isPure(await ask({ 'a2a-version': '1.0' }, '/.well-known/agent.json')))
})

t.test('a configuration makes the 1.0 card the default', async t => {
  const other = await a2aScene(t, { config: { a2a: { card_default: 'v1' } } })
  const bare = await caller(other.url, undefined).json(STANDARD)
  t.ok(isPure(bare))
  const old = await caller(other.url, undefined, { 'a2a-version': '0.3' }).json(STANDARD)
  t.notOk(isPure(old))
})

t.test('both cards list the same interfaces and capabilities', async t => {
  const { json: pure } = await ask({ 'a2a-version': '1.0' })
  const { json: hybrid } = await ask({})
  t.strictSame(pure.supportedInterfaces, hybrid.supportedInterfaces)
  t.strictSame(pure.supportedInterfaces, [
    { url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ])
  t.match(hybrid, {
    url,
    preferredTransport: 'JSONRPC',
    supportsAuthenticatedExtendedCard: true,
    capabilities: { streaming: true, stateTransitionHistory: true, pushNotifications: true },
  })
  t.strictSame(
    pure.capabilities.extensions.map(({ required }: AnyJson) => required),
    [false, false, false, false, false],
  )
})

t.test('a key with fewer skills gets the card of the same agent', async t => {
  const forOperators = defineSkill({
    group: 'fleet',
    id: 'for-operators',
    name: 'Move',
    description: 'Move a device.',
    tags: ['test'],
    access: 'operator',
    effect: 'read',
    input: z.strictObject({}),
    output: z.object({}),
    run: () => ({}),
  })
  const { url, demo } = await a2aScene(t, { moreSkills: [forOperators] })
  const fetchExtendedCard = async (key: string) =>
    (await caller(url, key, { 'a2a-version': '1.0' }).json('/a2a/rest/extendedAgentCard')).json
  const [client, operator] = [
    await fetchExtendedCard(demo.free),
    await fetchExtendedCard(demo.operator),
  ]
  const listSkillIds = ({ skills }: AnyJson): string[] => skills.map(({ id }: AnyJson) => id)
  t.ok(listSkillIds(operator).includes('for-operators'))
  t.notOk(listSkillIds(client).includes('for-operators'))
  t.match(JSON.stringify(client.capabilities), /"physical_devices":true/)
  t.same(client.capabilities, operator.capabilities)
})

t.test('a reader whose card is current gets 304, by ETag or by time', async t => {
  for (const path of [STANDARD, '/.well-known/agent.json']) {
    const { headers } = await ask({}, path)
    t.match(headers.get('vary'), /A2A-Version/)
    t.match(headers.get('cache-control'), /max-age=\d+/)
    const tag = headers.get('etag') ?? ''
    const time = headers.get('last-modified') ?? ''
    const get = async (more: Record<string, string>) =>
      (await fetch(`${url}${path}`, { headers: more })).status
    t.equal(await get({ 'if-none-match': tag }), 304)
    t.equal(await get({ 'if-none-match': '"other"' }), 200)
    t.equal(await get({ 'if-modified-since': time }), 304)
    t.equal(await get({ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 200)
    t.equal(await get({ 'if-none-match': '"other"', 'if-modified-since': time }), 200)
  }
  const pure = await ask({ 'a2a-version': '1.0' })
  t.not(pure.headers.get('etag'), (await ask({})).headers.get('etag'))
})

t.test('every binding is in the API document', async t => {
  const { json } = await caller(url, undefined).json('/v1/openapi.json')
  for (const [path, methods] of [
    ['/', ['get', 'post']],
    ['/a2a', ['post']],
    ['/a2a/rest/{path}', ['delete', 'get', 'post']],
    [STANDARD, ['get']],
  ] as const)
    t.strictSame(Object.keys(json.paths[path]).toSorted(), methods, path)
})
