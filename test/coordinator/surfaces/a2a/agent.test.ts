import t from 'tap'
import * as z from 'zod'
import { isTool } from '../../../../coordinator/kernel/declaration/declaration.ts'
import { defineOperation } from '../../../../coordinator/kernel/declaration/operation.ts'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { agentCard, type CardParts } from '../../../../coordinator/surfaces/a2a/agent-card.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { VERSION } from '../../../../shared/version.ts'
import { appWith, config, views } from '../../../support/app.ts'

const parts: CardParts = {
  addresses: {
    base: 'https://api.example',
    a2a: 'https://agent.example',
    mcp: 'https://api.example/mcp/',
    docs: 'https://docs.example',
    portal: undefined,
  },
  provider: { organization: 'Example', url: 'https://example' },
  skills: [],
  operations: [],
  modules: [],
  built: new Set(),
}

const onlyEmbeddings = config().catalogue.filter(({ kind }) => kind === 'embedding')

const skill = (id: string, more: object = {}) =>
  defineSkill({
    group: 'fleet',
    id,
    name: id,
    description: 'A skill.',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    input: z.strictObject({}),
    output: z.object({}),
    run: () => ({}),
    ...more,
  })

t.test('the card has the fields of the interface specification and no others', async t => {
  t.strictSame(Object.keys(agentCard(parts)), [
    'name',
    'description',
    'url',
    'version',
    'protocolVersion',
    'preferredTransport',
    'additionalInterfaces',
    'supportedInterfaces',
    'provider',
    'documentationUrl',
    'capabilities',
    'authentication',
    'securitySchemes',
    'security',
    'securityRequirements',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
    'swarm',
    'discovery_universe',
    'links',
  ])
})

t.test('absent features are false, zero or empty on the card', async t => {
  const card = agentCard(parts)
  t.strictSame(card.capabilities, {
    streaming: false,
    pushNotifications: false,
    stateTransitionHistory: false,
    intelligence_cascade: false,
    neural_graph: false,
    synesthetic_translation: false,
    hebbian_learning: false,
  })
  t.strictSame(card.swarm, {
    protocol: 'shoal-swarm/v1',
    mcp_endpoint: 'https://api.example/mcp/',
    mcp_tools: 0,
    pheromone_trails: false,
    conversational_flows: false,
    physical_devices: false,
    discovery_universe: false,
  })
  t.strictSame(card.discovery_universe, {
    version: '1.0.0',
    modules: 0,
    skills: 0,
    auto_run: false,
    endpoints: {},
    domains_covered: [],
  })
})

t.test('a registered feature is counted and sets its flag on the card', async t => {
  const card = agentCard({
    ...parts,
    skills: ['neural-query', 'synesthetic-translate', 'device-command'].map(id => skill(id)),
    operations: [
      defineOperation({
        id: 'discovery-run',
        description: 'Run.',
        method: 'POST',
        path: '/a2a/discovery/run',
        access: 'operator',
        effect: 'write',
        input: z.strictObject({}),
        output: z.object({}),
        run: () => ({}),
      }),
    ],
    modules: [
      { id: 'network-map', domain: 'network' },
      { id: 'mdns-scan', domain: 'network' },
      { id: 'iss-position', domain: 'satellite' },
    ],
    built: new Set(['a2a-streaming', 'pheromone-trails'] as const),
  })
  t.match(card.capabilities, {
    streaming: true,
    neural_graph: true,
    synesthetic_translation: true,
    pushNotifications: false,
  })
  t.match(card.swarm, {
    mcp_tools: 4,
    pheromone_trails: true,
    physical_devices: true,
    conversational_flows: false,
    discovery_universe: true,
  })
  t.strictSame(card.discovery_universe, {
    version: '1.0.0',
    modules: 3,
    skills: 2,
    auto_run: true,
    endpoints: { run: '/a2a/discovery/run' },
    domains_covered: ['network', 'satellite'],
  })
})

t.test('the served card describes the build of this coordinator and nothing else', async t => {
  const lanes = () => ({
    pick: () => undefined,
    wait: () => undefined,
    reportStart: () => {},
    reportEnd: () => {},
    reportFailures: () => {},
  })
  const cardWith = async (given: Parameters<typeof appWith>[0]) => {
    const app = await appWith(given)
    t.teardown(() => app.close())
    return (await app.inject('/.well-known/agent.json')).json()
  }
  const whole = await cardWith({ lanes })
  const bare = await cardWith({ config: config({ catalogue: onlyEmbeddings }) })
  for (const [card, expected] of [
    [whole, true],
    [bare, false],
  ] as const) {
    t.equal(card.swarm.pheromone_trails, expected)
    t.equal(card.capabilities.intelligence_cascade, expected)
    t.equal(card.swarm.conversational_flows, true)
    for (const skill of ['neural_graph', 'synesthetic_translation'])
      t.equal(card.capabilities[skill], true, skill)
    t.equal(card.capabilities.hebbian_learning, false, 'there is no graph that could learn')
    t.equal(card.swarm.physical_devices, true)
    t.equal(card.swarm.discovery_universe, true)
    for (const protocol of ['streaming', 'pushNotifications', 'stateTransitionHistory'])
      t.equal(card.capabilities[protocol], false, `${protocol} is of the bindings`)
    t.equal(card.swarm.mcp_tools, [...skills, ...operations].filter(isTool).length)
    const { modules, domains_covered, endpoints } = card.discovery_universe
    t.equal(modules, DISCOVERY_MODULES.length)
    t.strictSame(domains_covered, [...new Set(DISCOVERY_MODULES.map(({ domain }) => domain))])
    const paths = new Set(operations.map(({ path }) => path))
    t.ok(Object.values(endpoints).every(path => paths.has(path as string)))
  }
})

t.test('the card lists a skill as it is declared', async t => {
  const endpoints = { create: '/a2a/conversations' }
  const card = agentCard({
    ...parts,
    skills: [
      skill('plain', { examples: [{}] }),
      skill('hidden', { publishesInput: false }),
      skill('talk', { card: { examples: ['Talk.'], endpoints } }),
    ],
  })
  const usual = { description: 'A skill.', tags: ['test'] }
  const input_schema = { type: 'object', properties: {} }
  t.strictSame(card.skills, [
    { id: 'plain', name: 'plain', ...usual, input_schema },
    { id: 'hidden', name: 'hidden', ...usual },
    { id: 'talk', name: 'talk', ...usual, examples: ['Talk.'], endpoints, input_schema },
  ])
})

t.test('the card is served without a key, with an ETag', async t => {
  const app = await appWith({
    config: config({
      public: { a2a_url: 'https://agent.example/', portal_url: 'https://portal.example' },
      provider: { name: 'Example' },
    }),
  })
  t.teardown(() => app.close())
  const response = await app.inject({ url: '/.well-known/agent.json' })
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'content-type': /^application\/json/,
    'cache-control': /^public, max-age=\d+$/,
    etag: /^"[\w-]+"$/,
  })
  t.match(response.json(), {
    url: 'https://agent.example',
    version: VERSION,
    provider: { organization: 'Example', url: 'https://portal.example' },
    skills: skills.map(({ id }) => ({ id })),
    links: {
      documentation: 'http://127.0.0.1:7070/docs',
      agent_card: 'https://agent.example/.well-known/agent.json',
      health: 'https://agent.example/health',
      discovery: 'https://agent.example/a2a/discovery',
      portal: 'https://portal.example',
    },
  })
})

t.test('the health of the agent host names the unhealthy part', async t => {
  for (const [vitals, expected] of [
    [{}, { status: 'ok', broker: 'ok', store: 'ok' }],
    [{ brokerConnected: () => false }, { status: 'degraded', broker: 'unavailable', store: 'ok' }],
    [
      { storeProblem: () => 'the disk is full' },
      { status: 'degraded', broker: 'ok', store: 'unavailable' },
    ],
    [
      { usageProblem: () => 'usage is missing in one hour' },
      { status: 'degraded', broker: 'ok', store: 'ok', usage: 'incomplete' },
    ],
    [{ damagedRows: () => 2 }, { status: 'ok', broker: 'ok', store: 'ok', damaged_rows: 2 }],
  ] as const) {
    const healthy = views().vitals
    const app = await appWith({ views: views({ vitals: { ...healthy, ...vitals } }) })
    t.teardown(() => app.close())
    const response = await app.inject({ url: '/health' })
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), {
      usage: 'ok',
      damaged_rows: 0,
      ...expected,
      version: VERSION,
      uptime_s: 60,
      skills: skills.length,
    })
  }
})
