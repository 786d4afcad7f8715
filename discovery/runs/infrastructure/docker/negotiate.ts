import * as z from 'zod'
import type { EngineClient } from './engine-client.ts'

/** Versions of the Engine API that the program can read. */
const OLDEST = '1.41'
const NEWEST = '1.56'

const EngineVersion = z.object({
  Version: z.string(),
  ApiVersion: z.string().regex(/^\d{1,3}\.\d{1,3}$/),
  MinAPIVersion: z.string().optional(),
  KernelVersion: z.string().default(''),
  Os: z.string().default(''),
  Components: z.array(z.object({ Name: z.string() })).default([]),
})

/**
 * Agrees on the newest version that both sides know.
 * @throws Error when there is none
 */
export const negotiate = async (
  client: EngineClient,
): Promise<{ version: z.infer<typeof EngineVersion>; apiVersion: string }> => {
  const version = EngineVersion.parse(await client.get('/version'))
  const { ApiVersion, MinAPIVersion = OLDEST } = version
  const apiVersion = compare(ApiVersion, NEWEST) < 0 ? ApiVersion : NEWEST
  if (compare(apiVersion, OLDEST) < 0 || compare(apiVersion, MinAPIVersion) < 0)
    throw new Error(
      `it has versions ${MinAPIVersion} to ${ApiVersion} of the Engine API; ${OLDEST} to ${NEWEST} can be read`,
    )
  client.useVersion(apiVersion)
  return { version, apiVersion }
}

const compare = (a: string, b: string): number => {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number)
  const [majorB = 0, minorB = 0] = b.split('.').map(Number)
  return majorA - majorB || minorA - minorB
}
