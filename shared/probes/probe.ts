import * as z from 'zod'
import type { Need } from './needs.ts'
import type { SizeUnits } from './units.ts'

type Fields = Record<string, unknown>

/** Forms of the library's answers, with the library's own field names. */
interface Answers {
  object: Fields
  list: Fields[]
  text: string
  number: number
}
export type ProbeShape = keyof Answers

/** Reach of a probe: its own machine, or what that machine can contact or receive. */
export type ProbeReach = 'host' | 'lan' | 'internet' | 'radio'

/** Network access that the helper provides to `arrange`. */
interface ProbeTools {
  /** Status that a site returns; null when it does not answer. */
  httpStatus(url: string): Promise<number | null>
}

/**
 * A probe of a cell's machine, in one file: what the coordinator publishes, which function of
 * `systeminformation` runs, and which fields are withheld. It may import only zod, builtin modules
 * and its neighbours here, since the coordinator loads it too.
 */
export interface HostProbe<Input = never, Shape extends ProbeShape = ProbeShape> {
  /** File name, and last part of the route: `os-info`. */
  id: string
  /** Exported function of systeminformation 5.33.23. */
  call: string
  /**
   * Includes the units of the fields, which the library documents at https://systeminformation.io.
   */
  description: string
  shape: Shape
  reach: ProbeReach
  /** Parameters; their patterns exclude shell and path injection. */
  input: z.ZodObject
  /** Units of sizes whose names lack them, at any depth of the answer. */
  units?: SizeUnits
  /** Fields that never leave the machine, at any depth of the answer. */
  removed: readonly string[]
  /** Longest duration on the machine, in seconds. */
  deadlineSeconds: number
  /** True for rates computed from counters: the library is called twice, a moment apart. */
  isRate: boolean
  needs: readonly Need[]
  /** Arguments for the library's function; none by default. */
  argumentsFor?(input: Input): unknown[]
  /**
   * Reason for an empty answer, where empty means that the machine cannot report it. Without a
   * reason, an empty answer is valid.
   */
  emptyReason?: string | ((input: Input) => string)
  /** Reason for an answer that the library invents when it has found nothing. */
  explainInvented?(answer: Answers[Shape]): string | undefined
  /** Transforms the library's answer into the published one. */
  arrange?(answer: Answers[Shape], input: Input, tools: ProbeTools): unknown
}

type Optional = 'reach' | 'removed' | 'deadlineSeconds' | 'isRate' | 'needs'

type Given<Parameters extends z.ZodRawShape, Shape extends ProbeShape> = Omit<
  HostProbe<z.output<z.ZodObject<Parameters>>, Shape>,
  Optional | 'input'
> &
  Partial<Pick<HostProbe, Optional>> & { input?: Parameters }

/**
 * Completes a declaration with the common defaults: no parameters, nothing removed, eight seconds.
 */
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
