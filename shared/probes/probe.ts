import * as z from 'zod'

/** The form of what the library tells; its fields are the library's own. */
export type ProbeShape = 'object' | 'list' | 'text' | 'number'

/** One look at the machine of a cell: what it asks `systeminformation`, and what it keeps back. */
export interface HostProbe {
  /** Also the last part of its route: `os-info`. */
  id: string
  /** Exported function of systeminformation 5.33.23. */
  call: string
  title: string
  /** With the units of its fields, which the library documents at https://systeminformation.io. */
  description: string
  shape: ProbeShape
  /** What may be asked of it; the ways into a shell and into a path are closed by its patterns. */
  input: z.ZodObject
  /** Fields that never leave the machine, wherever they stand in the answer. */
  removed: readonly string[]
  /** Longest time on the machine, seconds. */
  deadlineSeconds: number
  /** Counters whose speed is asked too: the library is asked twice, a moment apart. */
  isRate: boolean
  /** It asks something beyond the machine. */
  openWorld: boolean
}

type Given = Partial<Pick<HostProbe, 'removed' | 'deadlineSeconds' | 'isRate' | 'openWorld'>> & {
  input?: z.ZodRawShape
}

/** `os-info` of `osInfo`, `disks-io` of `disksIO`. */
const idOf = (call: string): string =>
  call.replace(/[A-Z]+/g, capitals => `-${capitals.toLowerCase()}`)

/** A declaration with what most of them have: no parameters, nothing removed, eight seconds. */
export const probe = (
  call: string,
  shape: ProbeShape,
  title: string,
  description: string,
  { input = {}, removed = [], deadlineSeconds = 8, isRate = false, openWorld = false }: Given = {},
): HostProbe => ({
  id: idOf(call),
  call,
  shape,
  title,
  description,
  input: z.strictObject(input),
  removed,
  deadlineSeconds,
  isRate,
  openWorld,
})
