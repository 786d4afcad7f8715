import type * as z from 'zod'
import { firstIssue } from '../../../shared/first-issue.ts'
import { DEVICE_ID } from '../../../shared/ids.ts'
import { DeviceFacts, DeviceProfileFacts } from '../../../shared/wire/device.ts'

/** A device of a birth that is not served, with its name and the reason. */
export interface RefusedDevice {
  name: string
  reason: string
}

/** Longest name in a refusal; it comes from a cell and is shown to people. */
const MAX_NAME = 64

/**
 * Splits the devices of a birth from those that would answer for others, since an id of another form
 * could be the name of a device and a name of the form of an id could be the id of one, and from those
 * that cannot be read, such as a device of a newer daemon. The cell is served with the rest.
 * Everything else about the body is left to its schema.
 */
export const admitDevices = (body: unknown): { body: unknown; refused: RefusedDevice[] } => {
  const { devices, device_profiles } = (body ?? {}) as Record<string, unknown>
  if (!Array.isArray(devices)) return { body, refused: [] }
  const unreadable = findUnreadable(device_profiles)
  const seen = new Set<unknown>()
  const refused: RefusedDevice[] = []
  const admitted = devices.filter(device => {
    const { device_id, name, profile } = (device ?? {}) as Record<string, unknown>
    const reason =
      findFault(device_id, name, seen) ?? unreadable.get(profile) ?? findIssue(DeviceFacts, device)
    seen.add(device_id)
    if (reason === undefined) return true
    refused.push({ name: shorten(name ?? device_id), reason })
    return false
  })
  const profiles = Array.isArray(device_profiles) && {
    device_profiles: device_profiles.filter(one => !unreadable.has(one?.profile)),
  }
  return { body: { ...(body as object), ...profiles, devices: admitted }, refused }
}

/** Profiles that cannot be read, by name, with the reason. */
const findUnreadable = (profiles: unknown): Map<unknown, string> =>
  new Map(
    (Array.isArray(profiles) ? profiles : []).flatMap(profile => {
      const issue = findIssue(DeviceProfileFacts, profile)
      return issue === undefined ? [] : [[profile?.profile, `its profile is unknown: ${issue}`]]
    }),
  )

const findIssue = (schema: z.ZodType, value: unknown): string | undefined => {
  const parsed = schema.safeParse(value)
  return parsed.success ? undefined : firstIssue(parsed.error, value).message
}

const findFault = (id: unknown, name: unknown, seen: ReadonlySet<unknown>): string | undefined => {
  if (typeof id !== 'string' || !DEVICE_ID.test(id))
    return `its id ${shorten(id)} is not dev_ and twenty hexadecimal digits`
  if (seen.has(id)) return `another device of the cell has its id ${id}`
  if (typeof name === 'string' && DEVICE_ID.test(name) && name !== id)
    return 'its name has the form of the id of another device'
  return undefined
}

const shorten = (text: unknown): string => JSON.stringify(text ?? null).slice(0, MAX_NAME)
