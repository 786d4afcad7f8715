import { type MavlinkAddress, parseConnection } from '../../../devices/links/mavlink/connection.ts'
import { listenForVehicle } from '../../../devices/links/mavlink/listen.ts'
import { createSilence, createStatus } from '../../../devices/links/mavlink/vehicle-status.ts'
import { ShoalError } from '../../../shared/errors.ts'
import {
  MAVLINK_STATUS,
  type MavlinkStatusAnswer,
  MavlinkStatusInput,
} from '../../../shared/wire/mavlink-status.ts'
import type { HostedDevice } from '../hosted-device.ts'
import { type DeviceQuestionContext, defineDeviceQuestion } from './device-question.ts'

/** Heartbeats come each second, and slow telemetry every few seconds. */
const LISTEN_MS = 5000

/** The status of a vehicle: of the link that holds the address, or of what arrives there. */
export default defineDeviceQuestion({
  name: MAVLINK_STATUS,
  input: MavlinkStatusInput,
  async *ask({ connection }, context) {
    const address = parseConnection(connection)
    if (address === undefined)
      throw new ShoalError(
        'invalid_request',
        `connection must be udp:HOST:PORT, such as udp:127.0.0.1:14550`,
        { param: 'connection' },
      )
    const linked = findLinked(address, context)
    yield { type: 'item', value: linked ?? (await listen(address, context)) }
  },
})

/** Status from the link that holds the address; of several vehicles, the first that is there. */
const findLinked = (
  { host, port }: MavlinkAddress,
  { host: devices, now }: DeviceQuestionContext,
): MavlinkStatusAnswer | undefined => {
  const found = devices.listDevices().filter(({ device: { options }, link }) => {
    const held = link.kind === 'mavlink' ? parseConnection(String(options.connection)) : undefined
    return held?.host === host && held.port === port
  })
  const hosted = found.find(({ device }) => device.available) ?? found[0]
  return hosted && describeLinked(hosted, now())
}

const describeLinked = ({ device, link }: HostedDevice, now: number): MavlinkStatusAnswer => {
  const { deviceId, available, reason, options, name } = device
  if (!available) return createSilence(`${name}: ${reason ?? 'not available'}`)
  const { readings = {} } = link.readState(deviceId) ?? {}
  const system_id = Number(options.system_id)
  return createStatus({ available, source: 'link', system_id, readings, now })
}

const listen = async (
  address: MavlinkAddress,
  context: DeviceQuestionContext,
): Promise<MavlinkStatusAnswer> => {
  const limited = AbortSignal.any([context.signal, AbortSignal.timeout(LISTEN_MS)])
  const { vehicle, reason } = await listenForVehicle(address, context, limited)
  if (vehicle === undefined) return createSilence(reason)
  const { readings, ids } = vehicle
  const facts = { available: true, source: 'listening', system_id: ids.systemId } as const
  return createStatus({ ...facts, readings, now: context.now() })
}
