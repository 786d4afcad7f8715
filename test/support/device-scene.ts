import type { Test } from 'tap'
import { openPipeline } from '../../coordinator/calls/invoke/open.ts'
import type { OpenPart } from '../../coordinator/kernel/base/open-all.ts'
import { DeviceHost } from '../../daemon/devices/device-host.ts'
import { DevicesInBirth } from '../../daemon/devices/devices-in-birth.ts'
import { newId } from '../../shared/ids.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import { silent } from './cell.ts'
import { createCellBus } from './cell-bus.ts'
import { openScene } from './coordinator.ts'
import { announceDevices } from './device-facts.ts'
import { FakeLink } from './fake-link.ts'
import { waitUntil } from './wait-until.ts'

type PipelinePartParts = Parameters<typeof openPipeline>[0]

/** A coordinator with people, and one cell with a link whose devices the test sets. */
export const deviceScene = async (
  t: Test,
  pipeline: Partial<PipelinePartParts> = {},
  config: object = {},
) => {
  const cellId = newId('cell')
  const link = new FakeLink()
  const host = new DeviceHost({
    config: { site: 'north', envelope: { min_battery_to_start_percent: 20 } },
    links: [link],
    now: Date.now,
    nowMs: () => performance.now(),
    logger: silent,
  })
  const { sent, join, swap } = await createCellBus(t, { cellId, host })
  const scene = await openScene(t, {
    config,
    swaps: new Map<OpenPart, OpenPart>([
      swap,
      [
        openPipeline,
        (parts: Parameters<typeof openPipeline>[0]) => openPipeline({ ...parts, ...pipeline }),
      ],
    ]),
  })
  await join(scene)
  let epoch = 0
  /** Announces the devices of the link, and waits until the coordinator lists what it has. */
  const announce = async (own: Partial<Announce> = {}): Promise<Announce> => {
    const birth = new DevicesInBirth(host, silent).addTo(announceDevices([]))
    const whole = { ...birth, ...own }
    scene.fleet.birth(cellId, ++epoch, whole)
    scene.fleet.state(cellId, epoch, 'ready')
    const isOlder = own.capability !== undefined
    await waitUntil('the devices are listed', () =>
      link.devices.every(
        ({ deviceId, available }) =>
          scene.devices.get(deviceId)?.isAvailable === (available && !isOlder),
      ),
    )
    return whole
  }
  /** Sets the readings of a device that a motion needs, taken now. */
  const setBattery = (deviceId: string, battery_percent: number): void =>
    link.set(deviceId, Date.now(), { battery_percent, x_m: 0, y_m: 0, speed_m_s: 0 })
  const call = async (
    key: string,
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: object,
    callKey?: string,
  ) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(callKey !== undefined && { 'idempotency-key': callKey }),
    }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const response = await scene.app.inject({ method, url, headers, ...payload })
    return { status: response.statusCode, json: response.json() }
  }
  return { ...scene, cellId, link, sent, announce, call, setBattery }
}
