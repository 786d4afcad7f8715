/** Opens one part with those before it; the parts it returns are available to those after it. */
export type OpenPart = (parts: never) => object | Promise<object>

/**
 * Parts available after all of a list were opened in order. If an entry needs a part that none
 * before it provides, the type is `{ unmet: … }`, which nothing accepts.
 */
export type OpenedParts<Parts, List extends readonly OpenPart[]> = List extends readonly [
  infer First,
  ...infer Rest extends readonly OpenPart[],
]
  ? First extends (parts: Parts) => infer Given
    ? OpenedParts<Parts & Awaited<Given>, Rest>
    : { unmet: First extends (parts: infer Needs) => unknown ? Unmet<Needs, Parts> : never }
  : Parts

/** Members of a part's needs that are missing or have another type. */
type Unmet<Needs, Parts> = {
  [Name in keyof Needs as Parts extends Pick<Needs, Name> ? never : Name]: Needs[Name]
}

/** The views that the parts of a list give to operations. */
export type ViewsOf<List extends readonly OpenPart[]> = Intersection<GivenViews<List[number]>>

type GivenViews<One extends OpenPart> = One extends OpenPart
  ? Awaited<ReturnType<One>> extends { views: infer Views }
    ? Views
    : never
  : never

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never

/**
 * Opens parts one after another. `views` is one object that every part adds its own to, so that a
 * part may hold it and look into it once all parts are open.
 */
export const openAll = async <
  Parts extends { views: object },
  const List extends readonly OpenPart[],
>(
  parts: Parts,
  list: List,
): Promise<OpenedParts<Parts, List>> => {
  let opened: Parts = parts
  for (const open of list) {
    const { views, ...given } = (await open(opened as never)) as { views?: object }
    Object.assign(parts.views, views)
    opened = { ...opened, ...given }
  }
  return opened as OpenedParts<Parts, List>
}
