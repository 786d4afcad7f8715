/**
 * The smallest keys behind `after`, in order. One pass without sorting all of them, since a page is
 * short and a graph is not.
 */
export const takePage = (
  keys: Iterable<string>,
  { after = '', limit }: { after?: string | undefined; limit: number },
): string[] => {
  const page: string[] = []
  for (const key of keys) {
    if (key <= after) continue
    if (page.length === limit && key >= (page.at(-1) as string)) continue
    let [low, high] = [0, page.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((page[middle] as string) < key) low = middle + 1
      else high = middle
    }
    page.splice(low, 0, key)
    if (page.length > limit) page.pop()
  }
  return page
}
