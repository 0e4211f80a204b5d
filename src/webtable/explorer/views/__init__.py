"""The pages of the explorer, beside those of the questions that list records."""
