import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { HostedDevice } from '../../daemon/devices/hosted-device.ts'
import { MqttBridge } from '../../daemon/devices/mqtt/mqtt-bridge.ts'
import type { DeviceQuestionContext } from '../../daemon/devices/questions/device-question.ts'
import type { LinkContext } from '../../devices/device-link.ts'
import { CAPABILITY } from '../../shared/wire/capability.ts'

/** Context of a link whose scope is the loopback; its folder is removed when the test ends. */
export const createLinkContext = (
  t: Pick<Test, 'teardown'>,
  more: Partial<LinkContext> = {},
): LinkContext => {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-link-'))
  t.teardown(() => rmSync(stateDir, { recursive: true }))
  return {
    cellId: 'cell_01jd0000000000000000000001',
    logger: pino({ level: 'silent' }),
    now: Date.now,
    nowMs: () => performance.now(),
    resolveHost: async host => host,
    readSecret: async path => path,
    stateDir,
    env: {},
    ...more,
  }
}

/** Context of a question to a cell with devices and no MQTT broker. */
export const createQuestionContext = (
  context: LinkContext,
  { signal, devices = [] }: { signal: AbortSignal; devices?: readonly HostedDevice[] },
): DeviceQuestionContext => ({
  ...context,
  host: {
    listDevices: () => [...devices],
    find: id => devices.find(({ device }) => device.deviceId === id),
  },
  mqtt: new MqttBridge({ context, listBrokers: () => [] }),
  signal,
  level: CAPABILITY,
})

/** A signal that aborts when the test ends. */
export const createEnd = (t: Test): AbortSignal => {
  const controller = new AbortController()
  t.teardown(() => controller.abort())
  return controller.signal
}
