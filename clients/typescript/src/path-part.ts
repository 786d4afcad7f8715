/** An id as a part of a path. `.` and `..` would be folded away, and lead to another route. */
export const pathPart = (id: string): string => {
  if (id === '' || id === '.' || id === '..') throw new TypeError(`"${id}" is not an id`)
  return encodeURIComponent(id)
}
