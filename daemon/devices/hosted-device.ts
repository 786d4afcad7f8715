import type { DeviceLink, LinkedDevice } from '../../devices/device-link.ts'
import type { SourcedEnvelope } from '../../devices/envelope/merge-envelopes.ts'
import type { UnconfirmedStop } from './rest/rest-keeper.ts'

/** A device of this cell, with the limits of all sources but its verbs. */
export interface HostedDevice {
  device: LinkedDevice
  link: DeviceLink
  site: string | undefined
  limits: readonly SourcedEnvelope[]
  /** A stop of it that nobody has seen confirmed by rest; absent without one. */
  unconfirmedStop?: UnconfirmedStop
}
