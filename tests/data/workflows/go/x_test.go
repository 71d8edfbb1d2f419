package x

import "testing"

func TestSum(t *testing.T) {
	if got := 1 + 1; got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
