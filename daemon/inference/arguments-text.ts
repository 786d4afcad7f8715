/** Finds the end of a JSON object in a text that arrives in pieces. */
export class ArgumentsText {
  complete = false
  #depth = 0
  #inString = false
  #escaped = false

  /** The part of the text that belongs to the object. */
  take(text: string): string {
    for (let at = 0; at < text.length; at++) {
      this.#read(text[at] as string)
      if (this.complete) return text.slice(0, at + 1)
    }
    return text
  }

  #read(character: string): void {
    if (this.#escaped) this.#escaped = false
    else if (this.#inString && character === '\\') this.#escaped = true
    else if (character === '"') this.#inString = !this.#inString
    else if (this.#inString) return
    else if (character === '{' || character === '[') this.#depth++
    else if (character === '}' || character === ']') this.complete = --this.#depth === 0
  }
}
