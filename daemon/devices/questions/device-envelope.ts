import { type MergedEnvelope, mergeEnvelopes } from '../../../devices/envelope/merge-envelopes.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { isKnownLimit } from '../../../shared/wire/capability.ts'
import {
  DEVICE_ENVELOPE,
  DeviceEnvelopeInput,
  EnvelopeBound,
} from '../../../shared/wire/device-envelope.ts'
import type { HostedDevice } from '../hosted-device.ts'
import { defineDeviceQuestion } from './device-question.ts'

/** The limits of a device, each with the source that sets it. */
export default defineDeviceQuestion({
  name: DEVICE_ENVELOPE,
  input: DeviceEnvelopeInput,
  async *ask({ device_id }, { host, level }) {
    const hosted = host.find(device_id)
    if (hosted === undefined) throw new ShoalError('not_found', `this cell has no ${device_id}`)
    const bounds = listBounds(hosted).filter(({ limit }) => isKnownLimit(limit, level))
    yield { type: 'item', value: { bounds } }
  },
})

const listBounds = ({ limits, device }: HostedDevice): EnvelopeBound[] => [
  ...toBounds(mergeEnvelopes(limits), null),
  ...Object.entries(device.profile.verbs).flatMap(([name, { envelope }]) =>
    envelope === undefined ? [] : toBounds(mergeEnvelopes([{ source: 'verb', envelope }]), name),
  ),
]

const toBounds = (merged: MergedEnvelope, command: string | null): EnvelopeBound[] =>
  Object.entries(merged).flatMap(([limit, bounds]) =>
    [bounds].flat().map(bound => EnvelopeBound.parse({ limit, ...bound, command })),
  )
