import * as z from 'zod'
import type { BoundedAnswer } from '../../../net/ask-api.ts'

type Get = (path: string) => Promise<BoundedAnswer>

const PAGE = 500
/** Most objects of one kind. */
const MAX_OBJECTS = 10_000
/** Lists that begin again because their snapshot has expired. */
const MAX_RESTARTS = 2

const Page = z.object({
  metadata: z.object({ continue: z.string().max(8192).optional() }).optional(),
  items: z.array(z.unknown()).nullish(),
})
const Status = z.object({ message: z.string().default(''), reason: z.string().default('') })

interface ObjectList<T> {
  items: T[]
  /** Objects of another form. */
  unread: number
  /** True when there are more than are read. */
  isCut: boolean
}

/** Thrown when the server refuses a list. */
export class ListRefused extends Error {
  override readonly name = 'ListRefused'
  readonly status: number

  constructor(path: string, { status, text }: BoundedAnswer) {
    const { data } = Status.safeParse(parseJson(text))
    super(`${path} answered ${status} ${data?.reason ?? ''}: ${data?.message ?? ''}`.slice(0, 400))
    this.status = status
  }
}

/**
 * Reads a list page by page. A token for the next page that has expired (410) starts the list again
 * (Kubernetes documentation, "Retrieving large results sets in chunks").
 * @throws ListRefused, or Error of the connection
 */
export const listObjects = async <T extends z.ZodType>(
  get: Get,
  path: string,
  schema: T,
): Promise<ObjectList<z.output<T>>> => {
  for (let restart = 0; ; restart++) {
    const items: unknown[] = []
    let next: string | undefined = ''
    while (next !== undefined && items.length < MAX_OBJECTS) {
      const more: string = next === '' ? '' : `&continue=${encodeURIComponent(next)}`
      const answer = await get(`${path}?limit=${PAGE}${more}`)
      if (answer.status === 410 && restart < MAX_RESTARTS) break
      if (answer.status !== 200) throw new ListRefused(path, answer)
      const page = Page.parse(JSON.parse(answer.text))
      items.push(...(page.items ?? []))
      next = page.metadata?.continue || undefined
      if (next === undefined) return readAll(items, schema, false)
    }
    if (items.length >= MAX_OBJECTS) return readAll(items.slice(0, MAX_OBJECTS), schema, true)
  }
}

const readAll = <T extends z.ZodType>(
  items: readonly unknown[],
  schema: T,
  isCut: boolean,
): ObjectList<z.output<T>> => {
  const read = items.map(item => schema.safeParse(item))
  const good = read.flatMap(({ data }) => (data === undefined ? [] : [data]))
  return { items: good, unread: items.length - good.length, isCut }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
