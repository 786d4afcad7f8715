import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LinkContext } from '../../../devices/device-link.ts'
import { BambuLink } from '../../../devices/links/bambu/bambu-link.ts'
import { BambuLinkConfig } from '../../../devices/links/bambu/config.ts'
import type { Json } from '../../../devices/profile.ts'
import bambuPrinter from '../../../devices/profiles/bambu-printer.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { testDeviceLink } from '../../contracts/device-link.ts'
import { createEnd, createLinkContext } from '../../support/link-context.ts'
import { FULL_STATUS, type StandInPrinter, startPrinter } from '../../support/stand-in-printer.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ACCESS_CODE = '31415926'
const NAME = 'printer in the workshop'

const startStandIn = async (t: Test): Promise<StandInPrinter> => {
  const printer = await startPrinter()
  t.teardown(() => printer.stop())
  return printer
}

const openLink = (
  t: Test,
  { serial, port }: Pick<StandInPrinter, 'serial' | 'port'>,
  {
    context = createLinkContext(t),
    signal = createEnd(t),
    ...more
  }: { context?: LinkContext; signal?: AbortSignal; fingerprint?: string } = {},
) => {
  const config = BambuLinkConfig.parse({
    kind: 'bambu',
    name: NAME,
    serial,
    host: '127.0.0.1',
    port,
    access_code_file: ACCESS_CODE,
    ...more,
  })
  const link = new BambuLink(config, context)
  link.start(signal)
  const facts = () => {
    const [device] = link.list()
    if (device === undefined) throw new Error('the link lists no printer')
    return device
  }
  const { deviceId, options } = facts()
  const value = (name: string) => link.readState(deviceId)?.readings[name]?.value
  const plan = (verb: string, params: object = {}): Json[] =>
    bambuPrinter.verbs[verb]?.plan(bambuPrinter.verbs[verb].params.parse(params), {
      device_id: deviceId,
      options,
      envelope: {},
    }).operations ?? []
  const execute = (verb: string, params: object = {}, signal = AbortSignal.timeout(10_000)) =>
    link.execute(deviceId, plan(verb, params), { signal, report: () => {}, bounds: {} })
  const waitReady = () => waitUntil('the printer is available', () => facts().available)
  return { link, facts, value, plan, execute, deviceId, waitReady, context }
}

t.test('a Bambu link keeps the contract of links', async t => {
  testDeviceLink(t, {
    open: async t => {
      const printer = await startStandIn(t)
      const end = new AbortController()
      t.teardown(() => end.abort())
      const { link, waitReady } = openLink(t, printer, { signal: end.signal })
      await waitReady()
      const { answer } = printer.state
      const topic = `device/${printer.serial}/request`
      const received = () => printer.requests.filter(request => !('pushing' in request))
      return {
        link,
        listReceived: () => received().map(payload => ({ topic, payload }) as Json),
        hang: () => {
          printer.state.answer = fields => (fields.command === 'stop' ? answer(fields) : undefined)
        },
        hasStopped: () => received().some(({ print }) => print?.command === 'stop'),
        end: () => end.abort(),
      }
    },
    uses: [
      { device: NAME, verb: 'pause', params: {} },
      { device: NAME, verb: 'light', params: { on: true } },
      { device: NAME, verb: 'set-temperature', params: { bed_celsius: 60 } },
      { device: NAME, verb: 'stop', params: {} },
    ],
    hanging: { device: NAME, verb: 'print-start', params: { file: 'bracket.3mf' } },
    secrets: [ACCESS_CODE],
  })
})

t.test('a link merges the full state of a printer from its deltas', async t => {
  const printer = await startStandIn(t)
  const { value, waitReady, link, deviceId } = openLink(t, printer)
  await waitReady()
  t.equal(value('state'), 'running')
  t.equal(value('nozzle_celsius'), 219.5)
  t.equal(value('light_on'), true)
  t.equal(value('link_quality_percent'), 96)
  const before = link.readState(deviceId)?.readings.bed_celsius?.at ?? 0
  printer.report({ print: { command: 'push_status', msg: 1, mc_percent: 13, bed_temper: 'hot' } })
  await waitUntil('the delta is merged', () => value('progress_percent') === 13)
  t.equal(value('layers'), 120)
  t.equal(value('bed_celsius'), 54.8)
  t.ok((link.readState(deviceId)?.readings.bed_celsius?.at ?? 0) >= before)
})

t.test('a link asks for the full state at most every five minutes', async t => {
  const printer = await startStandIn(t)
  const { waitReady, value } = openLink(t, printer)
  await waitReady()
  printer.cut()
  await waitUntil('the link is connected again', () => printer.subscribed.length === 2)
  printer.report({ print: { command: 'push_status', msg: 1, mc_percent: 50 } })
  await waitUntil('the delta is read', () => value('progress_percent') === 50)
  t.strictSame(
    printer.requests.map(request => Object.keys(request)),
    [['pushing']],
  )
})

t.test('a command is what its plan holds, and resolves when the printer confirms it', async t => {
  const printer = await startStandIn(t)
  const { waitReady, execute, plan } = openLink(t, printer)
  await waitReady()
  const [operation] = plan('set-temperature', { nozzle_celsius: 210, bed_celsius: 60 })
  const { payload } = operation as { payload: object }
  t.match(payload, { print: { command: 'gcode_line', param: 'M104 S210\nM140 S60\n' } })
  t.strictSame(plan('set-temperature', { nozzle_celsius: 210, bed_celsius: 60 }), [operation])
  t.match(await execute('set-temperature', { nozzle_celsius: 210, bed_celsius: 60 }), {
    asked: { sent: [{ name: 'gcode_line', answer: 'success' }] },
    result: { result: 'success' },
  })
  t.strictSame(printer.requests.at(-1), payload)
})

t.test('a printer that refuses commands is not writable until it accepts one', async t => {
  const printer = await startStandIn(t)
  const { waitReady, execute, facts } = openLink(t, printer)
  await waitReady()
  t.equal(facts().writable, true)
  const { answer } = printer.state
  printer.state.answer = ({ command, sequence_id }) => ({
    command,
    sequence_id,
    result: 'fail',
    reason: 'mqtt message verify failed',
    err_code: 84_033_543,
  })
  await t.rejects(execute('pause'), { reason: 'forbidden', message: /developer mode/ })
  t.equal(facts().writable, false)
  t.match(facts().reason, /84033543/)
  printer.state.answer = answer
  await execute('pause')
  t.equal(facts().writable, true)
  printer.report({ print: { ...FULL_STATUS, fun: '3EC1AFFF9CFF' } })
  await waitUntil('the lock is read from the status', () => !facts().writable)
  t.match(facts().reason, /signed commands/)
})

t.test('an aborted print start stops the print, as its plan says', async t => {
  const printer = await startStandIn(t)
  const { waitReady, execute } = openLink(t, printer)
  await waitReady()
  const { answer } = printer.state
  const aborter = new AbortController()
  printer.state.answer = fields => {
    if (fields.command === 'stop') return answer(fields)
    aborter.abort()
    return undefined
  }
  const started = execute('print-start', { file: 'bracket v2.3mf' }, aborter.signal)
  await t.rejects(started, { name: 'DeviceFailure', reason: 'request_timeout' })
  t.match(printer.requests.at(-2), {
    print: { command: 'project_file', url: 'file:///sdcard/bracket%20v2.3mf' },
  })
  t.match(printer.requests.at(-1), { print: { command: 'stop' } })
})

t.test('a stop is sent while a command hangs, and rejects when it is not confirmed', async t => {
  const printer = await startStandIn(t)
  const { waitReady, execute, link, deviceId } = openLink(t, printer)
  await waitReady()
  const { answer } = printer.state
  printer.state.answer = fields => (fields.command === 'stop' ? answer(fields) : undefined)
  const aborter = new AbortController()
  const hanging = execute('pause', {}, aborter.signal)
  await link.stop(deviceId, 'cut')
  t.match(printer.requests.at(-1), { print: { command: 'stop' } })
  aborter.abort()
  await t.rejects(hanging, { name: 'DeviceFailure', reason: 'request_timeout' })
  printer.state.answer = () => undefined
  await t.rejects(link.stop(deviceId, 'cut'), { name: 'DeviceFailure', reason: 'request_timeout' })
})

t.test('the certificate of the first connection is pinned, and another one is refused', async t => {
  const first = await startPrinter()
  const context = createLinkContext(t)
  const before = openLink(t, first, { context })
  await before.waitReady()
  const pinFile = join(context.stateDir, 'bambu-pins', `${first.serial}.sha256`)
  t.equal(readFileSync(pinFile, 'utf8').trim(), first.fingerprint)
  await first.stop()
  const second = await startPrinter({ port: first.port })
  t.teardown(() => second.stop())
  const after = openLink(t, second, { context })
  await waitUntil('the certificate is refused', () =>
    after.facts().reason?.includes('another certificate'),
  )
  t.strictSame(second.logins, [])
  writeFileSync(pinFile, `${second.fingerprint}\n`)
  await after.waitReady()
})

t.test('a configured fingerprint is the only certificate that is accepted', async t => {
  const printer = await startStandIn(t)
  const { fingerprint } = printer
  const colons = fingerprint.toUpperCase().replace(/..(?!$)/g, '$&:')
  await openLink(t, printer, { fingerprint: colons }).waitReady()
  const { facts } = openLink(t, printer, { fingerprint: '0'.repeat(64) })
  await waitUntil('the certificate is refused', () => facts().reason?.includes('the configuration'))
  t.equal(printer.logins.length, 1)
})

t.test('the access code is in no fact, plan or log line', async t => {
  const printer = await startStandIn(t)
  const lines: unknown[] = []
  const log = (...line: unknown[]) => lines.push(line)
  const logger = { warn: log, info: log, debug: log, error: log }
  const context = createLinkContext(t, { logger: logger as never })
  const { waitReady, facts, plan, link, deviceId } = openLink(t, printer, { context })
  await waitReady()
  printer.cut()
  await waitUntil('the loss is logged', () => lines.length > 0)
  const { profile, ...shown } = facts()
  const plans = plan('pause')
  const texts = JSON.stringify([lines, shown, plans, link.readState(deviceId)])
  t.notMatch(texts, ACCESS_CODE)
})

t.test('verbs of a printer have the hazards and gates of what they do', async t => {
  const verbs = Object.entries(bambuPrinter.verbs).map(([name, { hazard, isUrgent, gate }]) => [
    name,
    `${hazard}${isUrgent ? ' urgent' : ''}`,
    gate,
  ])
  t.strictSame(verbs, [
    ['stop', 'safe urgent', undefined],
    ['pause', 'safe urgent', undefined],
    ['resume', 'unsafe', undefined],
    ['print-start', 'unsafe', undefined],
    ['set-temperature', 'unsafe', undefined],
    ['light', 'caution', undefined],
    ['gcode', 'unsafe', CRITICAL_GATE],
  ])
  const { params } = bambuPrinter.verbs['set-temperature'] ?? {}
  t.notOk(params?.safeParse({ nozzle_celsius: 301 }).success)
  t.notOk(params?.safeParse({}).success)
  const { params: gcode } = bambuPrinter.verbs.gcode ?? {}
  t.notOk(gcode?.safeParse({ lines: ['G28\nM104 S300'] }).success)
})
