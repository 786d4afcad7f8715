import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { DEMO_DEVICES } from '../../../bin/up/demo-devices.ts'
import { DEMO_TENANT } from '../../../coordinator/access/keys/bootstrap.ts'
import { loadExample } from '../../../coordinator/insight/registers/example.ts'
import type { OpenPart } from '../../../coordinator/kernel/base/open-all.ts'
import { openWorker } from '../../../coordinator/kernel/queue/open-worker.ts'
import { DevicesConfig } from '../../../daemon/devices/config.ts'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { DevicesInBirth } from '../../../daemon/devices/devices-in-birth.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import type { Announce } from '../../../shared/wire/announce.ts'
import { engine, gpu, sampleOf } from '../../coordinator/fleet/series/samples.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { linkCell, silent } from '../cell.ts'
import { createCellBus } from '../cell-bus.ts'
import { openNothing, openScene } from '../coordinator.ts'
import { announceDevices } from '../device-facts.ts'
import { createLinkContext } from '../link-context.ts'
import { startStandIns } from '../stand-in-services.ts'
import { waitUntil } from '../wait-until.ts'
import { openSources } from './sources.ts'
import { answerAsCell } from './surroundings.ts'

const FOLDER = resolve(import.meta.dirname, '../../../examples/organisation')
/** Day of the figures in docs/business.md. */
const NOW = Date.UTC(2026, 10, 20, 12)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const GIB = 2 ** 30

type Scene = Awaited<ReturnType<typeof openScene>>

/** A coordinator without the worker of the queue: jobs stay where they are. */
const openWith = (
  t: Pick<Test, 'teardown'>,
  now: () => number,
  { config = {}, swaps = [] }: { config?: object; swaps?: [OpenPart, OpenPart][] } = {},
) =>
  openScene(t, {
    now,
    config: { keys: { public_tenant: DEMO_TENANT }, presence: LONG_LEASES, ...config },
    // how busy this machine is belongs to no answer
    views: { vitals: { loopDelayMs: () => 1, uptimeSeconds: () => 600 } },
    swaps: new Map<OpenPart, OpenPart>([[openWorker, openNothing], ...swaps]),
  })

/** The cell sends nothing after its samples. */
const LONG_LEASES = { suspect_after_seconds: 3600, dead_after_seconds: 7200, ping_seconds: 3600 }

/** A coordinator whose store has nothing but the people of the demonstration. */
export const openEmpty = (t: Pick<Test, 'teardown'>): Promise<Scene> => openWith(t, () => NOW)

/**
 * A coordinator of the example organisation: its records as `npm start` loads them, one cell with
 * the simulated devices of `npm start`, flows and services, and outside sources on loopback. The
 * time is noon of a fixed day, so that the answers are the same at every start.
 */
export const openOrganisation = async (
  t: Pick<Test, 'teardown'>,
): Promise<Scene & { clock: { now: number }; readDevices: () => void }> => {
  const clock = { now: NOW - 10 * MINUTE_MS }
  const now = () => clock.now
  const { url } = await startStandIns(t)
  const config = { ...(await openSources(t, NOW)), ...(await platform(t, url)) }
  const { link, host } = openDevices(t, now)
  const cell = await createCellBus(t, { cellId: CELL_ID, host, now })
  const scene = await openWith(t, now, { config, swaps: [cell.swap] })
  await loadExample(scene.store, FOLDER, { tenantId: DEMO_TENANT, by: { actor: 'bootstrap' } })
  await cell.join(scene)
  const linked = await linkCell(CELL_ID, answerAsCell(now))
  t.teardown(() => linked.close())
  await announceCell(scene, host)
  scene.fleet.linkUp(linked.link)
  for (; clock.now < NOW; clock.now += MINUTE_MS) takeSample(scene, clock.now)
  takeSample(scene, clock.now)
  /** Reads the devices again, at the time of the clock. */
  const readDevices = (): void => {
    link.advance(0)
    reportDevices(scene, host)
  }
  readDevices()
  await recordUsage(scene)
  await waitUntil('the alert is raised', () => scene.views.monitor.alerts().length > 0)
  return { ...scene, clock, readDevices }
}

/** Services, flows and settings that an operator configures. */
const platform = async (t: Pick<Test, 'teardown'>, url: string) => {
  const passphrase_file = join(await temporaryFolder(t), 'passphrase')
  writeFileSync(passphrase_file, 'correct horse battery staple', { mode: 0o600 })
  return {
    services: { keycloak: { url }, iio_api: { url: `${url}/health/ready` } },
    chat_servers: { [DEMO_TENANT]: { url } },
    backup: { schedule: '0 3 * * *', passphrase_file },
    rampup: { document: { inference: { slots: 8 } } },
    compliance: {
      'gdpr/art. 30': {
        ...{ state: 'done', evidence: 'Register of processing, page 3' },
        ...{ by: 'Data protection officer', on: '2026-10-01' },
      },
    },
    flows: {
      'evening-round': {
        description: 'Looks at the fleet after the working day.',
        team: 'Operations',
        cost_eur: 0.2,
        steps: ROUND.map(skill => ({ id: skill, skill })),
      },
    },
    synergies: { nightly: { description: 'Looks at everything.', flows: ['evening-round'] } },
  }
}

/** Steps of the flow. */
const ROUND = ['fleet-utilization', 'vram-guard', 'self-diagnose']

export const CELL_ID = 'cell_01kafq0000000000000000000a'
const EPOCH = 1

/** The devices of `npm start`, at rest. */
const openDevices = (t: Pick<Test, 'teardown'>, now: () => number) => {
  const config = DevicesConfig.parse(DEMO_DEVICES)
  const context = createLinkContext(t, { cellId: CELL_ID, now })
  const link = new SimLink(SimLinkConfig.parse(DEMO_DEVICES.links[0]), context)
  return { link, host: new DeviceHost({ config, links: [link], ...context }) }
}

const engines = (slotsBusy: number) => [
  engine(slotsBusy, {
    ...{ weights: 'smollm2-135m', models: ['model-a:7b'], context_length: 4096, slots: 4 },
  }),
]

const GPU = { id: 'GPU-1', vram_total_bytes: 24 * GIB, unified_memory: false }

/** Announces the cell and waits until the coordinator lists its devices. */
const announceCell = async ({ fleet, devices }: Scene, host: DeviceHost): Promise<void> => {
  const facts: Partial<Announce> = {
    name: 'workshop',
    gpus: [{ ...GPU, index: 0, name: 'NVIDIA L4', vendor: 'nvidia', driver: '580.95.05' }],
    engines: engines(0),
  }
  const birth = new DevicesInBirth(host, silent).addTo(announceDevices([], facts))
  fleet.birth(CELL_ID, EPOCH, birth)
  fleet.state(CELL_ID, EPOCH, 'ready')
  const ids = host.listDevices().map(({ device }) => device.deviceId)
  await waitUntil('the devices are listed', () => ids.every(id => devices.get(id)?.isAvailable))
}

/** A GPU whose memory is nearly full, and a model that is in use. */
const takeSample = ({ fleet }: Scene, at: number): void => {
  const busy = { utilization_percent: 64, temperature_celsius: 61, power_watts: 58 }
  const gpus = [gpu(22.5 * GIB, { ...GPU, ...busy })]
  fleet.sample(CELL_ID, EPOCH, sampleOf(at, { gpus, engines: engines(3) }), 0)
}

const reportDevices = ({ deviceReceiver }: Scene, host: DeviceHost): void => {
  const states = host
    .listDevices()
    .map(({ device, link }) => link.readState(device.deviceId))
    .filter(state => state !== undefined)
  deviceReceiver.onStates(CELL_ID, states, 0)
}

/** Requests of the tenant today and yesterday. */
const recordUsage = async ({ usage }: Scene): Promise<void> => {
  for (const [hours, durationMs, status] of [
    [1, 1000, 'ok'],
    [2, 1400, 'ok'],
    [3, 600, 'failed'],
    [30, 900, 'ok'],
  ] as const)
    await usage.record({
      at: NOW - hours * HOUR_MS,
      key_id: 'key',
      tenant_id: DEMO_TENANT,
      model: 'model-a:7b',
      cell_id: CELL_ID,
      route: '/v1/chat/completions',
      status,
      prompt_tokens: 1200,
      completion_tokens: 340,
      cached_tokens: 0,
      duration_ms: durationMs,
      request_id: `req_${hours}`,
      ttft_ms: 200,
      retries: 0,
    })
}
