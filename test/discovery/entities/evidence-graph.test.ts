import fc from 'fast-check'
import t from 'tap'
import { EvidenceGraph } from '../../../discovery/entities/evidence-graph.ts'
import { MAX_COMPARED } from '../../../discovery/entities/key-evidence.ts'
import type { Observation } from '../../../discovery/entities/observation.ts'
import type { KeyKind, SightingKey } from '../../../discovery/sighting.ts'
import { TEST_PSEUDONYMS } from '../../support/pseudonyms.ts'

const AT = Date.UTC(2026, 0, 5)
const MAC = 'b8:27:eb:00:00:01'

/** An observation at `minute` of keys that are written as `kind=value`. */
const see = (keys: string[], minute = 0, site = 'home'): Observation => ({
  sighting: {
    keys: keys.map(text => {
      const [kind, ...value] = text.split('=')
      return { kind: kind as KeyKind, value: value.join('=') }
    }),
    facts: {},
  },
  module: 'network-map',
  cellId: 'cell_a',
  site,
  at: AT + minute * 60_000,
})

/** Groups of the numbers of observations that are one thing. */
const groupOf = (observations: readonly Observation[]): number[][] => {
  const graph = new EvidenceGraph(TEST_PSEUDONYMS)
  const ids = observations.map(observation => {
    const seen = graph.observe(observation, AT)
    if (seen?.isNewEvidence) graph.regroup([seen.trace.id])
    return seen?.trace.id
  })
  const groups = Map.groupBy(
    observations.keys(),
    n => graph.traces.get(ids[n] ?? '')?.entityId ?? `${n}`,
  )
  return [...groups.values()]
}

t.test('evidence joins sightings', async t => {
  for (const [title, observations, groups] of [
    [
      'one strong key is enough',
      [see(['ssh_host_key=aa11']), see(['ssh_host_key=aa11'], 9999, 'office')],
      [[0, 1]],
    ],
    [
      'two medium keys are enough',
      [
        see([`mac=${MAC}`, 'fqdn=a.example.org'], 0, 'x'),
        see([`mac=${MAC}`, 'fqdn=a.example.org', 'serial=AB1234'], 9999),
      ],
      [[0, 1]],
    ],
    [
      'one medium key is not',
      [see(['fqdn=a.example.org', 'ip=10.0.0.1']), see(['fqdn=a.example.org', 'ip=10.0.0.2'])],
      [[0], [1]],
    ],
    [
      'one medium key and an address at one time are',
      [
        see(['fqdn=a.example.org', 'ip=10.0.0.1']),
        see(['fqdn=a.example.org', 'ip=10.0.0.1', 'upnp_udn=u1'], 15),
      ],
      [[0, 1]],
    ],
    [
      'a MAC address is unique within a site',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see([`mac=${MAC}`, 'ip=10.0.0.2'], 9999)],
      [[0, 1]],
    ],
    [
      'a MAC address alone joins nothing over sites',
      [see([`mac=${MAC}`]), see([`mac=${MAC}`], 0, 'office')],
      [[0], [1]],
    ],
    [
      'an address joins within 15 minutes',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see(['ssh_host_key=aa11', 'ip=10.0.0.1'], 15)],
      [[0, 1]],
    ],
    [
      'an address joins nothing later',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see(['ssh_host_key=aa11', 'ip=10.0.0.1'], 16)],
      [[0], [1]],
    ],
    [
      'an address says nothing at another site',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see(['ssh_host_key=aa11', 'ip=10.0.0.1'], 0, 'office')],
      [[0], [1]],
    ],
    [
      'two interfaces never join by an address',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see(['mac=b8:27:eb:00:00:02', 'ip=10.0.0.1'], 5)],
      [[0], [1]],
    ],
    [
      'an address belongs to its nearest holder',
      [
        see([`mac=${MAC}`, 'ip=10.0.0.1']),
        see(['mac=b8:27:eb:00:00:02', 'ip=10.0.0.1'], 10),
        see(['ssh_host_key=aa11', 'ip=10.0.0.1'], 12),
      ],
      [[0], [1, 2]],
    ],
    [
      'names join nothing',
      [see(['name=printer']), see(['name=printer', 'ip=10.0.0.1'])],
      [[0], [1]],
    ],
  ] as const)
    t.strictSame(groupOf(observations), groups, title)
})

t.test('contradictions keep sightings apart', async t => {
  for (const [title, observations, groups] of [
    [
      'two serial numbers are two things',
      [see(['serial=AB1234', 'ssh_host_key=aa11']), see(['serial=AB9999', 'ssh_host_key=aa11'])],
      [[0], [1]],
    ],
    [
      'a strong key that is alive at two sites is a clone',
      [
        see(['ssh_host_key=aa11', 'ip=10.0.0.1']),
        see(['ssh_host_key=aa11', 'ip=10.0.0.2'], 5, 'office'),
      ],
      [[0], [1]],
    ],
    [
      'a strong key that moves to another site is not',
      [
        see(['ssh_host_key=aa11', 'ip=10.0.0.1']),
        see(['ssh_host_key=aa11', 'ip=10.0.0.2'], 60, 'office'),
      ],
      [[0, 1]],
    ],
    [
      'one address that two sites reach is one place',
      [
        see(['ssh_host_key=aa11', 'ip=10.0.0.1']),
        see(['ssh_host_key=aa11', 'ip=10.0.0.1', 'fqdn=a.example.org'], 5, 'office'),
      ],
      [[0, 1]],
    ],
    [
      'the address of a virtual router joins no machines',
      [
        see(['mac=00:00:5e:00:01:01', 'ip=10.0.0.1']),
        see(['ssh_host_key=aa11', 'ip=10.0.0.1']),
        see(['ssh_host_key=bb22', 'ip=10.0.0.1']),
      ],
      [[0], [1], [2]],
    ],
    [
      'containers are not the machine that has their address',
      [see([`mac=${MAC}`, 'ip=10.0.0.1']), see(['container_id=c1c2', 'ip=10.0.0.1'])],
      [[0], [1]],
    ],
    [
      'a sighting with two serial numbers has none',
      [see(['serial=AB1234', 'serial=AB9999', `mac=${MAC}`]), see(['serial=AB1234'])],
      [[0], [1]],
    ],
  ] as const)
    t.strictSame(groupOf(observations), groups, title)
})

const [VICTIM, OTHER] = ['b8:27:eb:00:00:0a', 'b8:27:eb:00:00:0b']

/** Findings of a scan of two hosts with one strong key, and the alarms of the registry. */
const judgeScan = (strong: string, first: readonly string[], second: readonly string[]) => {
  const graph = new EvidenceGraph(TEST_PSEUDONYMS)
  const alarms = new Map<string, string>()
  const groups = [
    see([`mac=${VICTIM}`, 'ip=10.0.0.1']),
    see([`mac=${OTHER}`, 'ip=10.0.0.2']),
    see([strong, 'ip=10.0.0.1', ...first]),
    see([strong, 'ip=10.0.0.2', ...second]),
  ].map(observation => {
    const seen = graph.observe(observation, AT)
    const { alarms: raised } = graph.regroup([seen?.trace.id ?? ''])
    for (const { key, state } of raised) alarms.set(`${key.kind}=${key.value}`, state)
    return seen?.trace
  })
  const entities = new Set(groups.map(trace => trace?.entityId))
  return { entities: entities.size, alarms: Object.fromEntries(alarms) }
}

t.test('a strong key that two hosts of a site show at once joins them only with a reason', t => {
  const engine = 'snmp_engine_id=80001f888012345678'
  for (const [title, strong, first, second, entities, alarms] of [
    ['a stolen SNMP engine', engine, [], [], 2, { [engine]: 'quarantined' }],
    [
      'a stolen announcement with all its identities',
      'mdns_id=cast:1',
      ['serial=AB1234'],
      ['serial=AB1234'],
      2,
      { 'mdns_id=cast:1': 'quarantined', 'serial=ab1234': 'quarantined' },
    ],
    [
      'a stolen engine of a host with another name',
      engine,
      ['name=one'],
      ['name=two'],
      2,
      { [engine]: 'quarantined' },
    ],
    [
      'two interfaces with one SSH key',
      engine,
      ['ssh_host_key=aa11'],
      ['ssh_host_key=aa11'],
      1,
      {},
    ],
    [
      'two interfaces with one host name',
      engine,
      ['name=router'],
      ['name=router'],
      1,
      { [engine]: 'shared' },
    ],
  ] as const)
    t.strictSame(judgeScan(strong, first, second), { entities, alarms }, title)
  t.end()
})

t.test('a host that moves to another interface keeps its identity', t => {
  const strong = 'snmp_engine_id=80001f888012345678'
  const moved = [
    see([`mac=${VICTIM}`, 'ip=10.0.0.1', strong], 0),
    see([`mac=${OTHER}`, 'ip=10.0.0.2', strong], 10),
  ]
  t.strictSame(groupOf(moved), [[0, 1]])
  const both = [...moved, see([`mac=${VICTIM}`, 'ip=10.0.0.1', strong], 12)]
  t.strictSame(groupOf(both), [[0, 2], [1]], 'seen before and after: both are there')
  t.end()
})

const VALUES: readonly SightingKey[] = [
  ...['aa11', 'bb22'].map(value => ({ kind: 'ssh_host_key', value }) as const),
  ...['AB1234', 'AB9999'].map(value => ({ kind: 'serial', value }) as const),
  ...['01', '02', '03'].map(n => ({ kind: 'mac', value: `b8:27:eb:00:00:${n}` }) as const),
  ...['a.example.org', 'b.example.org'].map(value => ({ kind: 'fqdn', value }) as const),
  ...['10.0.0.1', '10.0.0.2'].map(value => ({ kind: 'ip', value }) as const),
]

const anyObservation = fc
  .record({
    keys: fc.subarray([...VALUES], { minLength: 1, maxLength: 4 }),
    site: fc.constantFrom('home', 'office'),
  })
  .map(({ keys, site }) => ({ ...see([], 0, site), sighting: { keys, facts: {} } }))
const manyObservations = fc.array(anyObservation, { minLength: 2, maxLength: 14 })

const partitionOf = (observations: readonly Observation[]): string => {
  const graph = new EvidenceGraph(TEST_PSEUDONYMS)
  for (const observation of observations) {
    const seen = graph.observe(observation, AT)
    if (seen?.isNewEvidence) graph.regroup([seen.trace.id])
  }
  return describe(graph)
}

const describe = (graph: EvidenceGraph): string =>
  JSON.stringify([...graph.traces.values()].map(({ id, entityId }) => [id, entityId]).toSorted())

t.test('the order of sightings of one time does not matter', async t => {
  const ordered = manyObservations.chain(all =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
  )
  fc.assert(
    fc.property(ordered, ([one, other]) => partitionOf(one) === partitionOf(other)),
    { numRuns: 500 },
  )
  t.pass('500 pairs of orders')
})

t.test('a host that announces many things at its address gets few links', async t => {
  const graph = new EvidenceGraph(TEST_PSEUDONYMS)
  const count = 200
  for (let n = 0; n < count; n++) graph.observe(see([`mdns_id=made-up:${n}`, 'ip=10.0.0.9']), AT)
  t.equal(graph.traces.size, count)
  t.ok(graph.links.size <= count * MAX_COMPARED, `${graph.links.size}`)
  t.ok(graph.links.size < (count * (count - 1)) / 2)
})

t.test('no thing has two serial numbers, whatever is seen', async t => {
  fc.assert(
    fc.property(manyObservations, observations => {
      const graph = new EvidenceGraph(TEST_PSEUDONYMS)
      for (const observation of observations) {
        const seen = graph.observe(observation, AT)
        if (seen?.isNewEvidence) graph.regroup([seen.trace.id])
      }
      const serials = Map.groupBy(graph.traces.values(), ({ entityId }) => entityId)
      return [...serials.values()].every(
        traces =>
          new Set(
            traces.flatMap(({ keys }) => keys.filter(k => k.kind === 'serial')).map(k => k.value),
          ).size < 2,
      )
    }),
    { numRuns: 500 },
  )
  t.pass('500 worlds')
})

t.test('merges and splits of an operator reverse exactly', async t => {
  fc.assert(
    fc.property(
      manyObservations,
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      (observations, n, m, isMerge) => {
        const graph = new EvidenceGraph(TEST_PSEUDONYMS)
        for (const observation of observations) graph.observe(observation, AT)
        const ids = [...graph.traces.keys()]
        graph.regroup(ids)
        if (ids.length < 2) return true
        const before = describe(graph)
        const [a, b] = [ids[n % ids.length] as string, ids[m % ids.length] as string]
        if (a === b) return true
        const pin = isMerge
          ? ({ id: 'p1', kind: 'together', traces: [a, b] } as const)
          : ({ id: 'p1', kind: 'apart', traces: [a], others: [b] } as const)
        graph.pins.set('p1', pin)
        graph.regroup([a, b])
        const [one, other] = [graph.traces.get(a)?.entityId, graph.traces.get(b)?.entityId]
        graph.pins.delete('p1')
        graph.regroup([a, b])
        return (one === other) === isMerge && describe(graph) === before
      },
    ),
    { numRuns: 500 },
  )
  t.pass('500 worlds')
})
