import type { Announce } from '../../../shared/wire/announce.ts'
import type { VerbFacts } from '../../../shared/wire/command.ts'

/**
 * Finds the verbs that a cell has announced, for itself or for one of its devices. Undefined if it
 * has not announced itself since the coordinator started, or has no such device.
 */
export type FindVerbs = (cellId: string, deviceId?: string) => readonly VerbFacts[] | undefined

/** A cell that announces no list of devices has one list of verbs, whatever the device. */
export const createFindVerbs =
  (findAnnounce: (cellId: string) => Announce | undefined): FindVerbs =>
  (cellId, deviceId) => {
    const announce = findAnnounce(cellId)
    if (announce === undefined) return undefined
    const { verbs = [], devices, device_profiles = [] } = announce
    if (deviceId === undefined || devices === undefined) return verbs
    const device = devices.find(({ device_id }) => device_id === deviceId)
    return (
      device && (device_profiles.find(({ profile }) => profile === device.profile)?.verbs ?? [])
    )
  }
