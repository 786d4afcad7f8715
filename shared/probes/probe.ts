import * as z from 'zod'
import type { Need } from './needs.ts'
import type { SizeUnits } from './units.ts'

type Fields = Record<string, unknown>

/** Forms of an answer of the library; the names of its fields are the library's own. */
interface Answers {
  object: Fields
  list: Fields[]
  text: string
  number: number
}
export type ProbeShape = keyof Answers

/** How far a probe looks: no further than its machine, or to what that machine can ask or hear. */
export type ProbeReach = 'host' | 'lan' | 'internet' | 'radio'

/** What the helper does for `arrange` over a network. */
export interface ProbeTools {
  /** Status that a site answers; null where none answers. */
  httpStatus(url: string): Promise<number | null>
}

/**
 * One look at the machine of a cell, in one file: what the coordinator publishes of it, what it asks
 * `systeminformation`, and what it keeps back. It must import nothing but zod, builtin modules and
 * its neighbours here, since the coordinator reads it too.
 */
export interface HostProbe<Input = never, Shape extends ProbeShape = ProbeShape> {
  /** Name of its file, and last part of its route: `os-info`. */
  id: string
  /** Exported function of systeminformation 5.33.23. */
  call: string
  /** With the units of its fields, which the library documents at https://systeminformation.io. */
  description: string
  shape: Shape
  reach: ProbeReach
  /** Parameters; their patterns close the ways into a shell and into a path. */
  input: z.ZodObject
  /** Units of sizes whose names do not say them, wherever they stand in the answer. */
  units?: SizeUnits
  /** Fields that never leave the machine, wherever they stand in the answer. */
  removed: readonly string[]
  /** Longest time on the machine, seconds. */
  deadlineSeconds: number
  /** True for counters whose speed is asked too: the library is called twice, a moment apart. */
  isRate: boolean
  needs: readonly Need[]
  /** Arguments of the library's function; none by default. */
  argumentsFor?(input: Input): unknown[]
  /**
   * Reason for an answer that is empty, where that means that the machine cannot tell. Without it a
   * list may be empty.
   */
  whenEmpty?: string | ((input: Input) => string)
  /** Reason for an answer that the library makes up when it has found nothing. */
  explainInvented?(answer: Answers[Shape]): string | undefined
  /** The answer as it is shown, where that is not as the library returns it. */
  arrange?(answer: Answers[Shape], input: Input, tools: ProbeTools): unknown
}

type Optional = 'reach' | 'removed' | 'deadlineSeconds' | 'isRate' | 'needs'

type Given<Parameters extends z.ZodRawShape, Shape extends ProbeShape> = Omit<
  HostProbe<z.output<z.ZodObject<Parameters>>, Shape>,
  Optional | 'input'
> &
  Partial<Pick<HostProbe, Optional>> & { input?: Parameters }

/** A declaration with what most of them have: no parameters, nothing removed, eight seconds. */
export const defineHostProbe = <
  Shape extends ProbeShape,
  Parameters extends z.ZodRawShape = Record<never, never>,
>(
  given: Given<Parameters, Shape>,
): HostProbe =>
  ({
    reach: 'host',
    removed: [],
    deadlineSeconds: 8,
    isRate: false,
    needs: [],
    ...given,
    input: z.strictObject(given.input ?? {}),
  }) as unknown as HostProbe
