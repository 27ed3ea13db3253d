-- The provider that the model of a conversation was chosen for; NULL: whichever there is.
ALTER TABLE conversation ADD COLUMN provider TEXT;
