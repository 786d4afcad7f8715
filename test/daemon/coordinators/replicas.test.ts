import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createBuiltInVerbs } from '../../../daemon/commands/built-in-verbs.ts'
import { openJournalFile } from '../../../daemon/commands/journal-file.ts'
import { isTrustedAddress } from '../../../daemon/coordinator-url.ts'
import { describeCoverage } from '../../../daemon/coordinators/coverage.ts'
import { KnownCoordinators } from '../../../daemon/coordinators/known-coordinators.ts'
import { announceService } from '../../../daemon/services/announce.ts'
import { commandsService } from '../../../daemon/services/commands.ts'
import { linkService } from '../../../daemon/services/link.ts'
import { Nudge } from '../../../daemon/uplink/nudge.ts'
import { Uplink } from '../../../daemon/uplink/uplink.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { type Wait, waitUntilAborted } from '../../../shared/wait.ts'
import type { Announce } from '../../../shared/wire/announce.ts'
import { type Ack, signCommand } from '../../../shared/wire/command.ts'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import { topicFor } from '../../../shared/wire/topics.ts'
import { logger, newHealth, newIdentity, noWait, standIn, waitUntilTrue } from '../stand-in.ts'
import { openReplicaFleet } from './replica-fleet.ts'

const about: Announce = {
  name: 'cell',
  version: '0.1.0',
  protocol: 1,
  host: {
    hostname: 'h',
    os: 'o',
    kernel: 'k',
    arch: 'x64',
    cpu_model: 'c',
    cpu_count: 1,
    memory_total_bytes: 1,
  },
  gpus: [],
  engines: [],
  tags: [],
}

const sample = (takenAt: number): Sample => ({
  taken_at: takenAt,
  host: {
    cpu_percent: 1,
    memory_total_bytes: 2,
    memory_used_bytes: 1,
    disk_total_bytes: 2,
    disk_used_bytes: 1,
    network_received_bytes_per_second: null,
    network_sent_bytes_per_second: null,
  },
  gpus: [],
  engines: [],
  spool_dropped: 0,
})

/** Both planes of a cell, without a machine behind them. */
const startCell = async (t: Test, url: string, wait: Wait = noWait()) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-replicas-'))
  const stop = new AbortController()
  const health = newHealth()
  const identity = newIdentity(url)
  const shared = {
    identity,
    coordinators: new KnownCoordinators({ url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    health,
    nudge: new Nudge(),
    wait,
  }
  const uplink = new Uplink({
    ...shared,
    spool: { folder: join(folder, 'spool'), maxBytes: 1024 * 1024, drainBytesPerSecond: 1e9 },
    outbox: { folder: join(folder, 'outbox'), maxBytes: 1024 * 1024 },
    logger,
  })
  const now = { about }
  const announce = announceService({
    uplink,
    describe: () => now.about,
    intervalSeconds: 5,
    onChange: () => () => {},
    logger,
    wait: waitUntilAborted,
  })
  // the pings of the link need real time
  const link = linkService({
    ...shared,
    wait: (milliseconds, signal) =>
      milliseconds === 5000 ? waitUntilAborted(0, signal) : wait(milliseconds, signal),
    handle: (_request, response) => response.end('served'),
  })
  const context = { signal: stop.signal, fail: (error: Error) => t.fail(error.message) }
  for (const service of [announce, uplink, link]) await service.start(context)
  const states = () =>
    ['uplink connection', 'link connection'].map(name => health.view()[name]?.state)
  t.teardown(async () => {
    stop.abort()
    await waitUntilTrue(() => states().every(state => state === 'stopped'))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return { folder, uplink, announce, identity, health, states, stop, now }
}

const IDS = ['rep_a', 'rep_b', 'rep_c']

/** A cell that is connected to three coordinators behind one balancer. */
const startConnected = async (t: Test) => {
  const fleet = await openReplicaFleet(t, IDS)
  const cell = await startCell(t, fleet.balancer.url)
  await waitUntilTrue(() =>
    fleet
      .countConnections()
      .flat()
      .every(count => count === 1),
  )
  await waitUntilTrue(() => fleet.heardOf('state').every(heard => heard.length === 1))
  return { fleet, cell }
}

t.test('a cell behind a balancer', async t => {
  t.test('is connected to every coordinator once on each plane', async t => {
    const { fleet, cell } = await startConnected(t)
    t.strictSame(
      fleet.countConnections(),
      IDS.map(() => [1, 1]),
    )
    t.strictSame(
      fleet.heardOf('birth').map(heard => heard.length),
      [1, 1, 1],
    )
    await waitUntilTrue(() => cell.health.view()['uplink connection']?.reason === undefined)
    const dials = fleet.balancer.dials
    await cell.announce.again()
    await waitUntilTrue(() => fleet.heardOf('birth').every(heard => heard.length === 2))
    t.equal(fleet.balancer.dials, dials, 'nothing is sought any more')

    cell.uplink.offer(sample(1))
    await waitUntilTrue(() => fleet.heardOf('telemetry').every(heard => heard.length === 1))
    cell.uplink.sayDraining()
    await waitUntilTrue(() => fleet.heardOf('state').every(heard => heard.length === 2))
    t.strictSame(fleet.heardOf('history').flat(), [])
  })

  t.test('is served by the same handler on every link', async t => {
    const { fleet } = await startConnected(t)
    const answers = await Promise.all(
      fleet.coordinators.map(async ({ links }) => {
        let text = ''
        for await (const chunk of links.at(-1)?.request({ ':path': '/x' }) ?? []) text += chunk
        return text
      }),
    )
    t.strictSame(answers, ['served', 'served', 'served'])
  })

  t.test('meets a coordinator that joins, and lets go of one that leaves', async t => {
    const fleet = await openReplicaFleet(t, IDS)
    fleet.live = fleet.live.slice(0, 2)
    fleet.balancer.pick = turn => turn % 2
    const cell = await startCell(t, fleet.balancer.url)
    await waitUntilTrue(() => `${fleet.countConnections()}` === '1,1,1,1,0,0')

    fleet.live = IDS.map(id => ({ id }))
    fleet.balancer.pick = turn => turn
    fleet.tellLive(cell.identity.cell_id)
    await waitUntilTrue(() => `${fleet.countConnections()}` === '1,1,1,1,1,1')

    fleet.live = fleet.live.slice(1)
    fleet.balancer.pick = turn => 1 + (turn % 2)
    fleet.tellLive(cell.identity.cell_id)
    fleet.kill(fleet.coordinators[0])
    await waitUntilTrue(() => `${fleet.countConnections()}` === '0,0,1,1,1,1')
    t.strictSame(cell.states(), ['running', 'running'])
  })
})

t.test(
  'a coordinator that the balancer hides is sought ever more rarely, and reported',
  async t => {
    const fleet = await openReplicaFleet(t, IDS)
    fleet.balancer.pick = () => 0
    const pauses: number[] = []
    const wait: Wait = (milliseconds, signal) => {
      if (pauses.push(milliseconds) > 60) return waitUntilAborted(0, signal)
      return noWait()(milliseconds, signal)
    }
    const cell = await startCell(t, fleet.balancer.url, wait)
    await waitUntilTrue(() => pauses.length > 60)
    const view = cell.health.view()
    const says = describeCoverage({ connected: 1, live: 3 })
    t.match(view['uplink connection'], { state: 'running', reason: says })
    t.match(view['link connection'], { state: 'running', reason: says })
    t.ok(pauses.slice(-10).every(pause => pause >= 5000 && pause <= 15_000))
    t.strictSame(fleet.countConnections(), [
      [1, 1],
      [0, 0],
      [0, 0],
    ])
    t.ok(fleet.coordinators[0]?.state.upgrades.slice(4).every(({ linked }) => linked === 'rep_a'))
  },
)

t.test('the home', async t => {
  t.test('alone gets acks, and the next one gets those it did not confirm', async t => {
    const { fleet, cell } = await startConnected(t)
    const ids = Array.from({ length: 3 }, () => newId('cmd'))
    const deliver = (id: string) => cell.uplink.deliver('ack', { command_id: id }, id)
    await deliver(ids[0] ?? '')
    const heardAcks = () =>
      fleet.coordinators.map(({ heard }) => heard.filter(({ message }) => message.type === 'ack'))
    const home = fleet.coordinators[heardAcks().findIndex(acks => acks.length === 1)]
    t.equal(heardAcks().flat().length, 1)

    if (home) home.state.accept = topic => !topic.includes('/ack/')
    fleet.live = fleet.live.filter(({ id }) => id !== home?.replica)
    home?.server.close()
    await Promise.all(ids.slice(1).map(deliver))
    const later = heardAcks().filter((_acks, index) => fleet.coordinators[index] !== home)
    t.strictSame(
      later
        .flat()
        .map(({ message }) => (message.body as { command_id: string }).command_id)
        .sort(),
      ids.slice(1).toSorted(),
    )
    t.equal(later.filter(acks => acks.length > 0).length, 1, 'one coordinator is home')
  })

  t.test('gets the samples of an outage, the others do not', async t => {
    const fleet = await openReplicaFleet(t, IDS)
    for (const { state } of fleet.coordinators) state.refuse = { status: 503, body: '' }
    const cell = await startCell(t, fleet.balancer.url)
    for (let i = 0; i < 120; i++) cell.uplink.offer(sample(i))
    await waitUntilTrue(() => cell.states()[0] === 'waiting')
    for (const { state } of fleet.coordinators) state.refuse = undefined
    await waitUntilTrue(() => fleet.heardOf('history').flat().length === 3)
    t.equal(fleet.heardOf('history').filter(heard => heard.length > 0).length, 1)
    await waitUntilTrue(() =>
      fleet
        .countConnections()
        .flat()
        .every(count => count === 1),
    )

    const [first, ...others] = fleet.coordinators
    for (const { cut } of others) cut()
    cell.uplink.offer(sample(200))
    await waitUntilTrue(() => first?.heard.some(({ topic }) => topic === 'telemetry') ?? false)
    t.equal(fleet.heardOf('history').flat().length, 3, 'nothing is spooled beside a session')
  })
})

t.test('coordinators with an address are dialled there', async t => {
  const fleet = await openReplicaFleet(t, IDS)
  fleet.live = fleet.coordinators.map(({ replica = '', url }) => ({ id: replica, address: url }))
  const [first, second] = fleet.coordinators
  await startCell(t, first?.url ?? '')
  await waitUntilTrue(() =>
    fleet
      .countConnections()
      .flat()
      .every(count => count === 1),
  )
  t.equal(fleet.balancer.dials, 0)

  await t.test('also when the configured one is away and all connections were lost', async t => {
    fleet.kill(first)
    for (const { cut } of fleet.coordinators) cut()
    await waitUntilTrue(() => `${fleet.countConnections()}` === '0,0,1,1,1,1')
    t.ok(second && second.heard.length > 2)
  })
})

t.test('a coordinator whose address is unreachable is met through the balancer', async t => {
  const fleet = await openReplicaFleet(t, IDS)
  fleet.live = IDS.map((id, index) =>
    index === 2 ? { id, address: 'http://127.0.0.1:9' } : { id },
  )
  fleet.balancer.pick = turn => turn % 2
  const cell = await startCell(t, fleet.balancer.url)
  await waitUntilTrue(() => `${fleet.countConnections()}` === '1,1,1,1,0,0')
  fleet.balancer.pick = turn => turn
  await waitUntilTrue(() => `${fleet.countConnections()}` === '1,1,1,1,1,1')
  t.strictSame(cell.states(), ['running', 'running'])
})

t.test('a cell sends its credential only to addresses that it can trust', async t => {
  for (const [url, hasPinnedAuthority, address, isTrusted] of [
    ['https://c.example', false, 'https://c.example:8443', true],
    ['https://c.example', false, 'https://a.c.example', true],
    ['https://c.example', false, 'https://a.example', false],
    ['https://c.example', false, 'https://ac.example', false],
    ['https://c.example', true, 'https://a.example', true],
    ['https://c.example', true, 'http://c.example', false],
    ['https://c.example', true, 'http://127.0.0.1:1', false],
    ['https://c.example', true, 'c.example', false],
    ['http://127.0.0.1:1', false, 'http://127.0.0.1:2', true],
  ] as const)
    t.equal(isTrustedAddress(address, { url, hasPinnedAuthority }), isTrusted, address)
})

t.test('an older coordinator is dialled once per plane and not asked for others', async t => {
  const coordinator = await standIn()
  t.teardown(() => coordinator.close())
  const filters: string[] = []
  coordinator.broker.authorizeSubscribe = (_client, subscription, done) => {
    filters.push(subscription.topic)
    done(null, subscription)
  }
  const cell = await startCell(t, coordinator.url)
  await waitUntilTrue(() => cell.states().every(state => state === 'running'))
  await waitUntilTrue(() => coordinator.links.length === 1)
  await cell.announce.again()
  coordinator.cut()
  await waitUntilTrue(() => coordinator.links.length === 2 && coordinator.countSessions() === 1)
  t.equal(coordinator.state.upgrades.length, 4)
  t.ok(coordinator.state.upgrades.every(({ linked }) => linked === undefined))
  t.notOk(filters.includes(topicFor('replicas', cell.identity.cell_id)))
})

t.test('a single coordinator is dialled once per plane, again after a cut', async t => {
  const fleet = await openReplicaFleet(t, ['rep_a'])
  const [coordinator] = fleet.coordinators
  const cell = await startCell(t, fleet.balancer.url)
  for (const life of [1, 2]) {
    await waitUntilTrue(() => fleet.heardOf('birth').flat().length === 2 * life - 1)
    await waitUntilTrue(() => `${fleet.countConnections()}` === '1,1')
    await cell.announce.again()
    t.equal(fleet.balancer.dials, 2 * life)
    if (life === 1) coordinator?.cut()
  }
})

t.test('a command that arrives over two sessions is executed once', async t => {
  const fleet = await openReplicaFleet(t, IDS.slice(0, 2))
  const signer = createSigner(generatePrivateKey())
  const cell = await startCell(t, fleet.balancer.url)
  const { cell_id } = cell.identity
  const runs: string[] = []
  const commands = commandsService({
    cellId: cell_id,
    uplink: cell.uplink,
    file: openJournalFile(join(cell.folder, 'commands.journal')),
    signer: createSigner(generatePrivateKey()),
    listTrustedKeys: () => [signer.publicKey],
    verbs: createBuiltInVerbs({ announce: async () => void runs.push('run'), restartEngines() {} }),
    clock: { bounds: () => undefined },
    now: Date.now,
    nowMs: () => performance.now(),
    logger,
  })
  await commands.start({ signal: cell.stop.signal, fail: error => t.fail(error.message) })
  await waitUntilTrue(() => fleet.heardOf('state').every(heard => heard.length === 1))

  const issued = Date.now()
  const command = signCommand(
    {
      id: newId('cmd'),
      cell_id,
      verb: 'announce',
      params: {},
      hazard: 'safe',
      mode: 'live',
      issued_at: issued,
      not_before: issued,
      expires_at: issued + 10_000,
      fence: 1,
    },
    signer,
  )
  for (const { tell } of fleet.coordinators)
    tell(topicFor('cmd', cell_id, command.id), 'cmd', command)
  const acks = () =>
    fleet.coordinators.map(({ heard }) =>
      heard.flatMap(({ message }) => (message.type === 'ack' ? [message.body as Ack] : [])),
    )
  const isDone = () =>
    acks()
      .flat()
      .filter(({ state }) => state === 'succeeded').length > 0
  await waitUntilTrue(() => isDone() && acks().flat().length >= 3)
  t.strictSame(runs, ['run'])
  t.equal(acks().filter(heard => heard.length > 0).length, 1, 'all acks go home')
})
